//! A server of two tools on standard input and output. Type the messages to see the answers:
//!
//! ```text
//! cargo run -p protomcp-server --example echo_server
//! {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me"}}}
//! {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}
//! ```

use std::time::Duration;

use protomcp_server::{Context, Handler, Server, ServerInfo};
use protomcp_transport::stdio;
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Progress, Tool, ToolName};

struct Echo;

impl Handler for Echo {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("echo", env!("CARGO_PKG_VERSION"))
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let tools = ["count", "echo"].map(|name| Tool::new(ToolName::new(name).expect("not empty")));
        Ok(ListToolsResult::of(&tools))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        match call.name.as_str() {
            // Gives its arguments back, to the byte.
            "echo" => Ok(CallToolResult::text(call.arguments_or_empty().as_str())),
            // Counts to three, slowly.
            "count" => {
                for step in 1..=3 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    context.progress(&Progress::new(step).of(3));
                }
                // A library that prints does no harm to the conversation.
                #[expect(clippy::print_stdout, reason = "shows that standard output is safe")]
                {
                    println!("counted");
                }
                Ok(CallToolResult::text("done"))
            }
            name => Err(ErrorObject::unknown_tool(name)),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::from_handler(Echo);
    server.serve(stdio()?).await?;
    Ok(())
}
