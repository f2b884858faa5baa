//! The design that this library follows, sample by sample: its statements about clients, as tests.
//!
//! The names in the comments come from the design; conformance/SEED.md maps its rows to tests.

mod layers;
pub(crate) mod sample;
mod sessions;
mod transports;

use protomcp_typed::{JsonSchema, Registry, Tool, schemars};
use protomcp_types::CallToolResult;

#[derive(serde::Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

/// A server that greets.
fn greeter() -> Registry {
    let greet = async |Greet { name }: Greet| format!("Hi {name}");
    Registry::builder("greeter", "v1.0.0").tool(Tool::new("greet", "say hi").handler(greet)).build().unwrap()
}

/// The first text of a result.
fn text(result: &CallToolResult) -> String {
    let content: serde_json::Value = result.content.to().unwrap();
    content[0]["text"].as_str().unwrap().to_owned()
}
