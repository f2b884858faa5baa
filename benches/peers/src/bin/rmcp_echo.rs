//! An `rmcp` server with the built-in tool `echo`, for comparison with the bridge. `--pipes` selects its transport for
//! pipes, `--http` serves it over Streamable HTTP on a free port.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tokio::net::TcpListener;

#[derive(Clone)]
struct Echo {
    tool: Tool,
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![self.tool.clone()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_ref().and_then(|arguments| arguments.get("text")?.as_str()).unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    let echo = Echo { tool: Tool::new("echo", "Says the text again.", Arc::new(schema)) };
    if std::env::args().any(|argument| argument == "--http") {
        let sessions = Arc::new(LocalSessionManager::default());
        let config = StreamableHttpServerConfig::default();
        let service = StreamableHttpService::new(move || Ok(echo.clone()), sessions, config);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(std::io::stderr(), "listening on http://{}/mcp", listener.local_addr()?)?;
        // Without this, clients that keep their connection wait for the delayed acknowledgement.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a connection has options"));
        axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    } else if std::env::args().any(|argument| argument == "--pipes") {
        echo.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
    } else {
        echo.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
    }
    Ok(())
}
