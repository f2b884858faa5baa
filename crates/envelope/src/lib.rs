#![doc = include_str!("../README.md")]

#[cfg(feature = "serde")]
mod json_text;
mod rpc;

/// Generated code. Its items are re-exported at the root.
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, clippy::struct_excessive_bools, clippy::use_self, unused_qualifications, unreachable_pub)]
#[path = "gen/protomcp.rs"]
mod generated;

pub use generated::envelope::Msg;
pub use generated::*;
/// A name for no tool: it is not a conventional one (MCP 2025-11-25, server/tools, tool names). A selection of this tool
/// selects none. A bridge calls it to learn if a process takes calls; the process answers as for any unknown tool.
pub const NO_TOOL: &str = "protomcp/none";

pub use rpc::{AnyAnswer, CallAnswer, Rpc, UnexpectedMessage, message_name};
