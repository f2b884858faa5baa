//! An `rmcp` server with the built-in tools `echo` and `large`, for comparison with the bridge. `--pipes` selects its
//! transport for pipes, `--http` serves it over Streamable HTTP on a free port.
//!
//! The argument `size` of `large` is the size of its result in bytes. `MANY_TOOLS` sets the number of additional tools.

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
    tools: Arc<[Tool]>,
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
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let argument = |name: &str| request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        let text = match argument("size").and_then(|size| usize::try_from(size.as_u64()?).ok()) {
            Some(size) => "x".repeat(size),
            None => argument("text").and_then(|text| text.as_str()).unwrap_or_default().to_owned(),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// The tools, of which the additional ones have a description and a schema of a realistic size.
fn tools() -> Result<Arc<[Tool]>, serde_json::Error> {
    let open: Arc<JsonObject> = Arc::new(serde_json::from_str(r#"{"type":"object"}"#)?);
    let item: Arc<JsonObject> = Arc::new(serde_json::from_str(
        r#"{"type":"object","properties":{"item":{"type":"integer","minimum":1},"verbose":{"type":"boolean"}},"required":["item"]}"#,
    )?);
    let many = std::env::var("MANY_TOOLS").ok().and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    let named = [
        Tool::new("echo", "Says the text again.", Arc::clone(&open)),
        Tool::new("large", "Has a result of the given size.", open),
    ];
    let others = (0..many).map(|number| {
        let description = "Looks up what is known about one item of the catalogue, by its number.";
        Tool::new(format!("tool-{number:05}"), description, Arc::clone(&item))
    });
    Ok(named.into_iter().chain(others).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let echo = Echo { tools: tools()? };
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
