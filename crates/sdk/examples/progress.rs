//! Long work that reports progress and stops when it is cancelled: `pmcp dev crates/sdk/examples/progress.rs`.

#![expect(clippy::print_stdout, reason = "the output of a tool goes to the log")]

use std::time::Duration;

use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool};
use protomcp_types::Progress;
use serde::Deserialize;
use tokio::time::sleep;

#[derive(Deserialize, JsonSchema)]
struct Count {
    to: i64,
    #[serde(default = "pause")]
    pause_ms: u64,
}

fn pause() -> u64 {
    20
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    seconds: f64,
}

/// Asks whether it is cancelled.
async fn count(context: Context, args: Count) -> String {
    for number in 1..=args.to {
        if context.is_cancelled() {
            return format!("stopped before {number}");
        }
        sleep(Duration::from_millis(args.pause_ms)).await;
        context.progress(&Progress::new(number).of(args.to).with_message(format!("at {number}")));
    }
    format!("counted to {}", args.to)
}

/// Learns immediately that it is cancelled.
async fn wait(context: Context, args: Wait) -> Result<&'static str, String> {
    let time = Duration::try_from_secs_f64(args.seconds).map_err(|error| error.to_string())?;
    tokio::select! {
        () = sleep(time) => Ok("waited"),
        () = context.cancelled() => {
            println!("tidied up");
            Err("cancelled".into())
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::builder("progress", "1.0")
        .tool(Tool::new("count", "Counts slowly.").handler(count))
        .tool(Tool::new("wait", "Waits, and tidies up when it is cancelled.").handler(wait))
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
