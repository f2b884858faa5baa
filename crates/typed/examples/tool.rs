//! Typed tools over stdio: arguments, options, structured results, failures, progress.
//!
//! Try it with `npx @modelcontextprotocol/inspector cargo run -p protomcp-typed --example tool`: dividing by
//! zero is an error that the model can read.

use std::time::Duration;

use protomcp_server::Context;
use protomcp_transport::stdio;
use protomcp_typed::{Json, JsonSchema, Registry, Tool, ToolError, property};
use protomcp_types::Progress;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// The person to greet.
    name: String,
    #[serde(default)]
    times: u8,
}

async fn greet(args: Greet) -> String {
    vec![format!("Hello, {}!", args.name); usize::from(args.times.max(1))].join(" ")
}

#[derive(Deserialize, JsonSchema)]
struct Divide {
    dividend: f64,
    divisor: f64,
}

#[derive(Serialize, JsonSchema)]
struct Quotient {
    quotient: f64,
}

async fn divide(args: Divide) -> Result<Json<Quotient>, ToolError> {
    if args.divisor == 0.0 {
        return Err(ToolError::new("division by zero").with_suggestion("choose another divisor"));
    }
    Ok(Json(Quotient { quotient: args.dividend / args.divisor }))
}

async fn count(context: Context) -> &'static str {
    for step in 1..=3 {
        context.progress(&Progress::new(step).of(3).with_message(format!("step {step}")));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    "counted to three"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::builder("calculator", "1.0")
        .instructions("Divide numbers, and be polite about it.")
        .tool(
            Tool::new("greet", "Greet a person").handler(greet).input(property("times").set("maximum", 9)).read_only(),
        )
        .tool(Tool::new("divide", "Divide two numbers").handler(divide).read_only().idempotent())
        .tool(Tool::new("count", "Count, slowly").handler(count).timeout(Duration::from_secs(5)).limit(4))
        .build()?;
    registry.serve(stdio()?).await?;
    Ok(())
}
