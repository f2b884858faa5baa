//! Tools, results and resources of MCP as messages of proto-mcp, as pure functions.

mod agreement;
mod back;
mod resources;
mod results;
mod tools;

pub(crate) use agreement::{Agreement, may_have_gaps};
pub(crate) use back::{call_metadata, contents_from_proto, resource_from_proto, result_from_proto, tool_from_proto};
pub(crate) use resources::{contents_to_proto, resource_to_proto};
pub(crate) use results::{Structured, call_meta, result_to_proto};
pub(crate) use tools::{ToolSource, tool_to_proto};
