//! A result of any size: `pmcp dev crates/sdk/examples/large.rs`. It goes to the bridge without a copy into a message.

use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Large {
    bytes: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let large = async |args: Large| "x".repeat(args.bytes);
    let registry = Registry::builder("large", "1.0")
        .tool(Tool::new("large", "Answers with this many bytes.").handler(large).read_only())
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
