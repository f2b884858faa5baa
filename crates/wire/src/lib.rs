#![doc = include_str!("../README.md")]

pub mod completion;
pub mod content;
pub mod definition;
pub mod log;
pub mod metadata;
pub mod process;
pub mod prompt;
pub mod question;
pub mod resource;
pub mod tool_error;
pub mod tool_result;
