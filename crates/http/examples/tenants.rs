//! A server whose sessions belong to tenants, named by a header, and whose tool sees the HTTP request of each call.
//!
//! `cargo run -p protomcp-http --example tenants` serves `http://localhost:8080/mcp`. The tool `who` names the tenant
//! of the session, which is the header `x-tenant` of its `initialize`.

use http::request::Parts;
use protomcp_http::{Config, Listener, PeerAddr, StreamableHttp};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Tool, ToolName};

/// The handler of one session.
struct Tenant {
    name: String,
}

fn info() -> ServerInfo {
    ServerInfo::new("tenants", "1.0")
}

impl Handler for Tenant {
    fn info(&self) -> ServerInfo {
        info()
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let name = ToolName::new("who").map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(ListToolsResult::of(&[Tool::new(name)]))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        if call.name != "who" {
            return Err(ErrorObject::unknown_tool(&call.name));
        }
        let head = context.extension::<Parts>();
        let peer = head.and_then(|head| head.extensions.get::<PeerAddr>());
        let from = peer.map_or_else(|| "somewhere".to_owned(), |peer| peer.0.to_string());
        Ok(CallToolResult::text(format!("{}, who calls from {from}", self.name)))
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let sessions = ServerHandle::new(info(), Limits::default());
    let service = StreamableHttp::per_session(sessions, Config::default(), |head: &Parts, sessions| {
        let name = head.headers.get("x-tenant").and_then(|name| name.to_str().ok()).unwrap_or("default");
        Server::with_sessions(sessions.clone(), Tenant { name: name.to_owned() })
    });
    let listener = Listener::bind("127.0.0.1:8080").await?;
    protomcp_http::serve(listener, service).await
}
