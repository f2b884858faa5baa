//! A server on the official Rust SDK whose calls name the version of the program: the bytes after the last line break in
//! the executable, so that a test can make a version without a compiler. Each call leaves a note in a file.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

#[derive(Clone)]
struct Server {
    version: Arc<str>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("work", "Works for a while, once.", Arc::new(schema))]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = format!("{} {}", arguments["id"], self.version);
        note(&text).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default())).await;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn note(text: &str) -> Result<(), Box<dyn Error>> {
    let mut log = OpenOptions::new().append(true).create(true).open(std::env::var("WORK_LOG")?)?;
    log.write_all(format!("{text}\n").as_bytes())?;
    Ok(())
}

/// The version of this program. The link stays the one of the file that was started, when another one has its name.
fn version() -> Result<String, Box<dyn Error>> {
    let mut program = Vec::new();
    File::open("/proc/self/exe")?.read_to_end(&mut program)?;
    let start = program.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(String::from_utf8(program.split_off(start))?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server { version: version()?.into() };
    server.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
    Ok(())
}
