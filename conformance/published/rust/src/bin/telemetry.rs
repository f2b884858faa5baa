//! Every call reported to a sink: cargo build, then pmcp dev target/debug/telemetry.
//!
//! The output of the sink goes to the log of `pmcp`, never to the host.

use protomcp::{telemetry_sink, tool, ArgDef, ToolResult};

#[tokio::main]
async fn main() {
    telemetry_sink(|event| eprintln!("telemetry: {} {} {}", event.tool_name, event.phase, event.result_text));
    tool("divide")
        .description("Divides.")
        .arg(ArgDef::int("a"))
        .arg(ArgDef::int("b"))
        .handler(|_, args| match (args["a"].as_i64(), args["b"].as_i64()) {
            (Some(a), Some(b)) if b != 0 => ToolResult::new((a / b).to_string()),
            _ => ToolResult::error("cannot divide these", "BAD_NUMBERS", "Give two integers, the second not 0.", false),
        })
        .register();
    protomcp::run().await;
}
