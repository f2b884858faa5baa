//! A server on the official Rust SDK. It serves standard input and output, or with --http a free port of loopback that it
//! names on standard error.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ListPromptsResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerCapabilities, ServerConfig, Tool,
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
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
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
        let names = ["add", "fail", "wait", "count", "note", "ask", "sample", "roots"];
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
            "count" => {
                let token = context.meta.get_progress_token();
                for step in 1..=number("to") {
                    if let Some(token) = &token {
                        let progress = ProgressNotificationParam::new(token.clone(), step as f64);
                        context.peer.notify_progress(progress).await.map_err(internal)?;
                    }
                }
                said(format!("counted to {}", arguments["to"]))
            }
            "note" => {
                let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, arguments["text"].clone());
                context.peer.notify_logging_message(message).await.map_err(internal)?;
                said("noted")
            }
            "ask" => {
                let form = json!({
                    "mode": "form", "message": "What is your name?",
                    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
                });
                let params = serde_json::from_value(form).map_err(internal)?;
                let answer = context.peer.create_elicitation(params).await.map_err(internal)?;
                said(serde_json::to_string(&answer).map_err(internal)?)
            }
            "sample" => {
                let message = json!({"role": "user", "content": {"type": "text", "text": "Say something"}});
                let params =
                    serde_json::from_value(json!({"messages": [message], "maxTokens": 10})).map_err(internal)?;
                let answer = context.peer.create_message(params).await.map_err(internal)?;
                said(serde_json::to_string(&answer).map_err(internal)?)
            }
            "roots" => {
                let answer = context.peer.list_roots().await.map_err(internal)?;
                said(serde_json::to_string(&answer).map_err(internal)?)
            }
            name => Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None)),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompt = json!({"name": "weather", "arguments": [{"name": "city", "required": true}]});
        Ok(ListPromptsResult::with_all_items(vec![serde_json::from_value(prompt).map_err(internal)?]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != "weather" {
            return Err(ErrorData::invalid_params("no such prompt", None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = format!("What is the weather in {}?", arguments["city"].as_str().unwrap_or_default());
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        let result: GetPromptResult = serde_json::from_value(json!({"messages": [message]})).map_err(internal)?;
        Ok(result.into())
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

fn said(text: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text.into())]).into())
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
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
