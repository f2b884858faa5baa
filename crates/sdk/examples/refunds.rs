//! Instructions for the model (Agent Skills): `pmcp dev crates/sdk/examples/refunds.rs`.
//!
//! Each folder below `skills` with a `SKILL.md` is a skill, served next to the tools and read again after a save.

use protomcp_sdk::Config;
use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Order {
    number: i64,
}

async fn find(order: Order) -> String {
    format!("order {}: two teapots, 12 days ago", order.number)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let find = Tool::new("find", "Finds an order.").handler(find).read_only();
    let registry = Registry::builder("orders", "1.0").tool(find).build()?;
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/skills");
    let config = Config { skill_folders: vec![skills.into()], ..Config::default() };
    Ok(protomcp_sdk::run_with(registry.server(), config).await?)
}
