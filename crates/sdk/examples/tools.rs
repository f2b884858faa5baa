//! Three tools: `pmcp dev crates/sdk/examples/tools.rs`.

use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool};
use protomcp_types::Progress;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    to: i64,
}

async fn count(context: Context, args: Count) -> String {
    for step in 1..=args.to {
        if context.is_cancelled() {
            return format!("stopped at {step}");
        }
        context.progress(&Progress::new(step).of(args.to).with_message(format!("step {step}")));
    }
    format!("counted to {}", args.to)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let add = async |args: Add| (args.a + args.b).to_string();
    let greet = async |args: Greet| format!("Hello, {}!", args.name);
    let registry = Registry::builder("tools", "1.0")
        .tool(Tool::new("add", "Adds two numbers.").handler(add).read_only())
        .tool(Tool::new("greet", "Greets someone.").handler(greet).read_only())
        .tool(Tool::new("count", "Counts, and says how far it is.").handler(count))
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
