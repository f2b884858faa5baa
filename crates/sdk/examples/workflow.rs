//! Steps in an order that the server defines: `pmcp dev crates/sdk/examples/workflow.rs`.
//!
//! The list of tools stays the same. The first step returns a handle, which the other steps take as the argument
//! `workflow`; within a session it may be left out. A step out of order is refused with the steps that can run.

use protomcp_typed::{JsonSchema, Registry, Step, Tool, Workflow};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Choose {
    version: String,
}

#[derive(Deserialize, JsonSchema)]
struct Test {
    #[serde(default = "passed")]
    passed: bool,
}

fn passed() -> bool {
    true
}

async fn test(args: Test) -> Result<&'static str, &'static str> {
    if args.passed { Ok("tests pass") } else { Err("two tests fail") }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let choose = async |args: Choose| format!("releasing {}", args.version);
    let release = Workflow::new("release")
        .step(Step::new(Tool::new("choose", "Chooses the version.").handler(choose)).initial().next(["test"]))
        .step(Step::new(Tool::new("test", "Runs the tests.").handler(test)).next(["publish"]).on_error(["fix"]))
        .step(Step::new(Tool::new("fix", "Mends what the tests found.").handler(async || "mended")).next(["test"]))
        .step(Step::new(Tool::new("publish", "Publishes.").handler(async || "it is out")));
    let registry = Registry::builder("release", "1.0")
        .tool(Tool::new("status", "Says whether the build is green.").handler(async || "green").read_only())
        .workflow(release)
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
