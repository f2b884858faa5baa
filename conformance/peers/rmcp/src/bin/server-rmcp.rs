//! A server on the official Rust SDK. It serves standard input and output, or with --http a free port of loopback that it
//! names on standard error.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const GREETING: &str = "demo://greeting";

#[derive(Clone)]
struct Server;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info.name = "server-rmcp".to_owned();
        config
    }

    /// One tool on each page.
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let names = ["add", "fail", "wait"];
        let cursor = request.and_then(|request| request.cursor);
        let start = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>());
        let start = start.map_err(|_| ErrorData::invalid_params("not a cursor", None))?;
        let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
        let page = names.iter().skip(start).take(1).map(|name| Tool::new(*name, "A tool.", Arc::new(schema.clone())));
        let mut result = ListToolsResult::with_all_items(page.collect());
        result.next_cursor = (start + 1 < names.len()).then(|| (start + 1).to_string());
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let number = |name: &str| arguments[name].as_i64().unwrap_or_default();
        match request.name.as_ref() {
            "add" => {
                let sum = number("a") + number("b");
                Ok(CallToolResult::structured(json!({"sum": sum})).into())
            }
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("it failed on purpose")]).into()),
            "wait" => {
                if let Some(token) = context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, 1.0);
                    // The client may be gone.
                    let _ = context.peer.notify_progress(progress).await;
                }
                tokio::time::sleep(Duration::from_secs(600)).await;
                Ok(CallToolResult::success(Vec::new()).into())
            }
            name => Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None)),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(GREETING, "greeting")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != GREETING {
            return Err(ErrorData::resource_not_found("no such resource", None));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text("Grüße", GREETING)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().any(|argument| argument == "--http") {
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(|| Ok(Server), sessions, StreamableHttpServerConfig::default());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        eprintln!("listening on http://{}/mcp", listener.local_addr()?);
        axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    } else {
        Server.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
    }
    Ok(())
}
