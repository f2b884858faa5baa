//! Tools, results and resources of MCP as messages of proto-mcp, as pure functions.

pub(crate) mod agreement;
pub(crate) mod back;
pub(crate) mod resources;
pub(crate) mod results;
pub(crate) mod tools;
