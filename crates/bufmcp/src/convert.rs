//! Tools, results, resources, prompts and reports of MCP as messages of proto-mcp, as pure functions.

pub(crate) mod agreement;
pub(crate) mod back;
pub(crate) mod json_metadata;
pub(crate) mod prompts;
pub(crate) mod reports;
pub(crate) mod resources;
pub(crate) mod results;
pub(crate) mod tools;
