//! An `rmcp` server with one tool, `echo`, inside: what a bridge is compared with. `--pipes` takes its transport for pipes.

use std::error::Error;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

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
    if std::env::args().any(|argument| argument == "--pipes") {
        echo.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
    } else {
        echo.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
    }
    Ok(())
}
