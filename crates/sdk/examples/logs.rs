//! The program's own log in the client: `pmcp dev crates/sdk/examples/logs.rs`.
//!
//! Events of `tracing` in a handler become log messages of its call; the client chooses the level. The same program
//! serves standard input and output when no bridge has started it.

use std::env;

use protomcp_server::LogLayer;
use protomcp_transport::stdio;
use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::Deserialize;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[derive(Deserialize, JsonSchema)]
struct Import {
    rows: u32,
}

async fn import(args: Import) -> String {
    tracing::debug!(args.rows, "begins");
    if args.rows > 100 {
        tracing::warn!(logger = "database", args.rows, "this is slow");
    }
    tracing::info!("imported");
    format!("{} rows", args.rows)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let import = Tool::new("import", "Imports rows.").handler(import);
    let registry = Registry::builder("import", "1.0").tool(import).build()?;
    tracing_subscriber::registry().with(LogLayer::new(registry.sessions().clone())).init();
    match env::var_os("PROTOMCP_SOCKET") {
        Some(_) => Ok(protomcp_sdk::run(registry.server()).await?),
        None => Ok(registry.serve(stdio()?).await?),
    }
}
