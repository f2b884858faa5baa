//! The answers of the MCP server.

use protomcp_types::RawJson;

use crate::code;
use crate::fault::Fault;

/// The fault of a request that the end of the server has overtaken.
pub(super) fn closed() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the server is shutting down").with("reason", "shutdown")
}

/// The result of a request as JSON.
pub(super) type Answer = Result<RawJson, Fault>;
