//! Results in the shape that a revision wants: the one place where revisions differ on the way out.

use protomcp_types::{Body, CallToolResult, ListToolsResult, ProtocolVersion};

use crate::info::ServerInfo;
use crate::request::ServerResult;

/// The `result` of a response. All stateful revisions share one shape: what a revision does not know, its hosts ignore.
pub(super) fn result(result: ServerResult, version: ProtocolVersion) -> Body {
    debug_assert!(version.is_stateful(), "no session speaks the stateless revision yet");
    match result {
        ServerResult::CallTool(result) => call_tool(&result),
        ServerResult::ListTools(result) => list_tools(&result),
        ServerResult::Empty => Body::empty_object(),
        ServerResult::Body(body) => body,
    }
}

fn call_tool(result: &CallToolResult) -> Body {
    let object = Body::object()
        .raw("content", &result.content)
        .raw_if("structuredContent", result.structured_content.as_ref())
        .raw_if("_meta", result.meta.as_ref());
    if result.is_error { object.boolean("isError", true).finish() } else { object.finish() }
}

fn list_tools(result: &ListToolsResult) -> Body {
    Body::object()
        .raw("tools", &result.tools)
        .text_if("nextCursor", result.next_cursor.as_deref())
        .raw_if("_meta", result.meta.as_ref())
        .finish()
}

/// The answer to `initialize` (MCP 2025-11-25, basic/lifecycle).
pub(super) fn initialize(info: &ServerInfo, version: ProtocolVersion) -> Body {
    Body::object()
        .text("protocolVersion", version.as_str())
        .value("capabilities", &info.capabilities)
        .value("serverInfo", &info.implementation)
        .text_if("instructions", info.instructions.as_deref())
        .finish()
}
