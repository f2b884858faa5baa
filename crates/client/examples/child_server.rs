//! A server for clients that start their servers: speaks MCP over standard input and output.

#![expect(clippy::print_stderr, reason = "a server that crashes says why")]

use protomcp_transport::stdio;
use protomcp_typed::{JsonSchema, Registry, Tool, schemars};

#[derive(serde::Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::builder("child", "1.0")
        .tool(Tool::new("pid", "The id of this process").handler(async || std::process::id().to_string()))
        .tool(Tool::new("crash", "Ends this process").handler(async || -> String {
            eprintln!("out of luck");
            std::process::exit(3)
        }))
        .tool(Tool::new("greet", "say hi").handler(async |Greet { name }: Greet| format!("Hi {name}")))
        .tool(Tool::new("hang", "Never answers").handler(async || -> String { std::future::pending().await }))
        .build()?;
    Ok(registry.serve(stdio()?).await?)
}
