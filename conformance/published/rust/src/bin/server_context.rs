//! Values that the server passes to handlers, not the model: cargo build, then
//! pmcp dev target/debug/server_context.
//!
//! A resolver sees the arguments first and may remove some; its result is added to the arguments under its name.

use protomcp::{server_context, tool, ToolResult};
use serde_json::Value;

#[tokio::main]
async fn main() {
    server_context("user", |_| std::env::var("NOTES_USER").unwrap_or_else(|_| "guest".into()).into());
    server_context("folder", |arguments: &mut Value| {
        arguments.as_object_mut().and_then(|given| given.remove("workspace")).unwrap_or_else(|| "home".into())
    });
    tool("whoami")
        .description("Says who asks, and where.")
        .read_only_hint(true)
        .handler(|_, args| {
            ToolResult::new(format!(
                "{} in {}",
                args["user"].as_str().unwrap_or("?"),
                args["folder"].as_str().unwrap_or("?")
            ))
        })
        .register();
    protomcp::run().await;
}
