//! Tools for AI hosts. Serve them with: pmcp dev .

use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// The person to greet
    name: String,
    /// The number of greetings
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 3))]
    times: usize,
}

fn once() -> usize {
    1
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let add = async |args: Add| (args.a + args.b).to_string();
    let greet = async |args: Greet| vec![format!("Hello, {}!", args.name); args.times].join(" ");
    let registry = Registry::builder("tools", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("add", "Adds two numbers.").handler(add).read_only())
        .tool(Tool::new("greet", "Greets a person.").handler(greet).read_only())
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
