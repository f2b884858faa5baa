//! An MCP server on `http://localhost:8080/mcp`, with a tool that repeats its arguments.
//!
//! `cargo run -p protomcp-http --example echo_over_http`

use protomcp_http::{Config, Listener, StreamableHttp};
use protomcp_server::{Context, Handler, Server, ServerInfo};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Tool, ToolName};

struct Echo;

impl Handler for Echo {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("echo", "1.0")
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let name = ToolName::new("echo").map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(ListToolsResult::of(&[Tool::new(name)]))
    }

    async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            "echo" => Ok(CallToolResult::text(call.arguments_or_empty().as_str())),
            name => Err(ErrorObject::unknown_tool(name)),
        }
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let server = Server::from_handler(Echo).inline_calls();
    let service = StreamableHttp::new(server, Config::default());
    let listener = Listener::bind("127.0.0.1:8080").await?;
    protomcp_http::serve(listener, service).await
}
