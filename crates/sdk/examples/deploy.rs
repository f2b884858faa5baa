//! The deployment of a version: review, then approve or reject. Until then a client with a session sees no tool that
//! writes: `pmcp dev crates/sdk/examples/deploy.rs`.

use protomcp_typed::{JsonSchema, Registry, Step, Tool, ToolSelection, Workflow};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Review {
    version: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = ToolSelection::default();
    let review = async |args: Review| format!("reviewing {}", args.version);
    let deploy = Workflow::new("deploy")
        .step(
            Step::new(Tool::new("review", "Starts the review.").handler(review)).initial().next(["approve", "reject"]),
        )
        .step(Step::new(Tool::new("approve", "Approves.").handler(async || "approved")))
        .step(Step::new(Tool::new("reject", "Rejects.").handler(async || "rejected")))
        .allow_during(&tools, ["stat*"]);
    let registry = Registry::builder("deploy", "1.0")
        .tool(Tool::new("status", "Says whether the build is green.").handler(async || "green").read_only())
        .tool(Tool::new("wipe", "Deletes everything.").handler(async || "wiped").destructive(true))
        .workflow(deploy)
        .selection(&tools)
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
