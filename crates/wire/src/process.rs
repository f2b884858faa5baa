//! The other direction: results and definitions of MCP for the envelope, and the answers to a process's questions.
//!
//! A tool process that is written with an MCP library needs these; a bridge needs the rest of the crate.

pub mod definition;
pub mod question;
pub mod result;
