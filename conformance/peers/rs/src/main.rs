//! A tool process on the published Rust SDK, unmodified.
//!
//! One binary with every tool the tests want from that SDK. It keeps the SDK's habits, good and bad: one handler at
//! a time, a panic that ends the process, large results sent raw whatever else they carry.

use protomcp::{tool, tool_group, workflow_def, ArgDef, StepResult, ToolResult};
use serde_json::Value;
use std::time::Duration;

fn text<'a>(args: &'a Value, name: &str) -> &'a str {
    args[name].as_str().unwrap_or_default()
}

fn number(args: &Value, name: &str) -> usize {
    args[name].as_u64().unwrap_or_default() as usize
}

/// A text of `size` bytes that compresses well and differs from place to place.
fn long_text(size: usize) -> String {
    (0..).map(|n| format!("line {n}\n")).flat_map(String::into_bytes).take(size).map(char::from).collect()
}

fn register_tools() {
    tool("echo")
        .description("Says the text again.")
        .arg(ArgDef::string("text"))
        .read_only_hint(true)
        .handler(|_, args| ToolResult::new(text(&args, "text")))
        .register();
    tool("pid")
        .description("Names this process.")
        .handler(|_, _| ToolResult::new(std::process::id().to_string()))
        .register();
    tool("arguments")
        .description("Shows the arguments as they were understood.")
        .handler(|_, args| ToolResult::new(args.to_string()))
        .register();
    tool("sleep_ms")
        .description("Waits, then says how long.")
        .arg(ArgDef::int("ms"))
        .handler(|_, args| {
            std::thread::sleep(Duration::from_millis(number(&args, "ms") as u64));
            ToolResult::new(format!("slept {}", number(&args, "ms")))
        })
        .register();
    tool("large")
        .description("Answers with a text of this many bytes.")
        .arg(ArgDef::int("size"))
        .handler(|_, args| ToolResult::new(long_text(number(&args, "size"))))
        .register();
    tool("large_error")
        .description("Fails with a text of this many bytes.")
        .arg(ArgDef::int("size"))
        .handler(|_, args| ToolResult::error(long_text(number(&args, "size")), "TOO_BAD", "ask for less", true))
        .register();
    tool("fail")
        .description("Fails with all four parts of an error.")
        .handler(|_, _| ToolResult::error("it broke", "BROKEN", "mend it", true))
        .register();
    tool("panic").description("Ends the process.").handler(|_, _| panic!("the handler panicked on purpose")).register();
    tool("lock")
        .description("Takes echo off the list.")
        .handler(|_, _| ToolResult { disable_tools: vec!["echo".into()], ..ToolResult::new("locked") })
        .register();
    tool("unlock")
        .description("Puts echo back on the list.")
        .handler(|_, _| ToolResult { enable_tools: vec!["echo".into()], ..ToolResult::new("unlocked") })
        .register();
}

fn register_group_and_workflow() {
    tool_group("g")
        .description("A group of one.")
        .action("q", |action| {
            action
                .description("Doubles a number.")
                .arg(ArgDef::int("n"))
                .handler(|_, args| ToolResult::new((number(&args, "n") * 2).to_string()))
        })
        .register();
    workflow_def("ship")
        .description("Two steps, the second hidden until the first is done.")
        .step("pack", |step| {
            step.description("Packs.").initial().next(&["send"]).handler(|_, _| StepResult::new("packed"))
        })
        .step("send", |step| step.description("Sends.").terminal().handler(|_, _| StepResult::new("sent")))
        .register();
}

#[tokio::main]
async fn main() {
    register_tools();
    register_group_and_workflow();
    protomcp::run().await;
}
