//! Steps in an order that the host can see: cargo build, then pmcp dev target/debug/workflow.
//!
//! Only the first step is listed. Calling a step shows the next and hides everything else except the tools in
//! `allow_during`; the last step, or `release.cancel`, restores the list.

use protomcp::{tool, workflow_def, ArgDef, StepResult, ToolResult};

#[tokio::main]
async fn main() {
    tool("status").description("Says whether the build is green.").handler(|_, _| ToolResult::new("green")).register();
    tool("wipe").description("Deletes the build.").handler(|_, _| ToolResult::new("wiped")).register();
    workflow_def("release")
        .description("Publishes a version.")
        .allow_during(&["status"])
        .step("choose", |step| {
            step.description("Chooses the version.")
                .initial()
                .arg(ArgDef::string("version"))
                .next(&["test"])
                .handler(|_, args| StepResult::new(format!("releasing {}", args["version"].as_str().unwrap_or("?"))))
        })
        .step("test", |step| {
            step.description("Runs the tests.").next(&["publish"]).handler(|_, _| StepResult::new("tests pass"))
        })
        .step("publish", |step| {
            step.description("Publishes.").terminal().no_cancel().handler(|_, _| StepResult::new("it is out"))
        })
        .register();
    protomcp::run().await;
}
