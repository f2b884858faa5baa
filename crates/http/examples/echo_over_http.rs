//! An MCP server on `http://localhost:8080/mcp`, with a tool that repeats what it is told.
//!
//! `cargo run -p protomcp-http --example echo_over_http -- 8080`

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
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(8080);
    let server = Server::from_handler(Echo).inline_calls();
    let service = StreamableHttp::new(server, Config::default());
    let listener = Listener::bind(("127.0.0.1", port)).await?;
    protomcp_http::serve(listener, service).with_graceful_shutdown(interrupt()).await
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
