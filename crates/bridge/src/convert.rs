//! Between the link's messages and MCP's: pure, and the only place where the two meet.

pub(crate) mod content;
pub(crate) mod question;
pub(crate) mod result;
