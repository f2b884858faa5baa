//! A program of your own instead of `pmcp run`: it starts a tool file, wraps all requests in a layer, and serves a
//! client on stdio.
//!
//! `cargo run -p protomcp-bridge --example embedded -- tools.py`

#![expect(clippy::print_stderr, reason = "an example talks to its user")]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use protomcp_bridge::{Bridge, ToolFile, guardian};
use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_transport::stdio;
use protomcp_types::ErrorObject;

/// Logs every tool call and its duration.
struct Clock;

struct Clocked<S>(S);

impl<S: Service> Layer<S> for Clock {
    type Service = Clocked<S>;

    fn layer(&self, inner: S) -> Clocked<S> {
        Clocked(inner)
    }
}

impl<S: Service> Service for Clocked<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let Some(tool) = request.tool().map(str::to_owned) else { return self.0.call(request, context).await };
        let start = Instant::now();
        let outcome = self.0.call(request, context).await;
        eprintln!("{tool} took {:?}", start.elapsed());
        outcome
    }
}

fn main() -> ExitCode {
    // First in `main`: this program is also executed as the guardian of the tool process, which ends with it.
    guardian::run_if_requested();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).ok_or("usage: embedded TOOL_FILE")?;
    let bridge = Bridge::tool_file(&ToolFile::new(file)).call_timeout(Duration::from_secs(60)).start().await?;
    let server = bridge.server().layer(Clock);
    bridge.run_until(server.serve(stdio()?), async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
