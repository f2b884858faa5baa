//! The handlers of `everything_server` as a tool process, started by `pmcp`.

use std::process::ExitCode;

use protomcp_conformance::handlers::everything;
use protomcp_typed::PAGE_SIZE;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            tell(&why.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    Ok(protomcp_sdk::run(everything(PAGE_SIZE)?.server()).await?)
}

/// Writes to standard error, which the bridge logs.
#[expect(clippy::print_stderr, reason = "a program may talk to its user")]
fn tell(text: &str) {
    eprintln!("{text}");
}
