//! A server with one tool.

use protomcp_server::{Context, Handler, Router, Server, ServerInfo};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Tool, ToolName};

/// A call of the tool, without what follows its arguments.
pub(crate) const CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":"#,
    r#"{"text":"some words that make this about as long as calls usually are"}"#
);

/// The request that opens a session.
pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#
);

/// The notification that follows it.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Repeats the arguments of a call.
pub(crate) struct Echo;

impl Handler for Echo {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("echo", "1.0")
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let name = ToolName::new("echo").map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(ListToolsResult::of(&[Tool::new(name)]))
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        Ok(CallToolResult::text(call.arguments_or_empty().as_str()))
    }
}

/// The server, configured as the bridge's.
pub(crate) fn server() -> Server<Router<Echo>> {
    Server::from_handler(Echo).inline_calls()
}
