//! A program of our own in the place of `pmcp run`: it starts a tool file, puts a layer around all requests, and serves a
//! host on stdio.
//!
//! `cargo run -p protomcp-bridge --example embedded -- tools.py`

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use protomcp_bridge::{Bridge, ToolFile, guardian};
use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_transport::stdio;
use protomcp_types::ErrorObject;

/// Writes down every call of a tool and how long it took.
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
        note(&format!("{tool} took {:?}", start.elapsed()));
        outcome
    }
}

/// Standard output belongs to the conversation.
#[expect(clippy::print_stderr, reason = "an example may talk to its user")]
fn note(text: &str) {
    eprintln!("{text}");
}

fn main() -> ExitCode {
    // First of all: this program is started once more as the guardian of the tool process, so that nothing outlives it.
    guardian::run_if_requested();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            note(&format!("error: {why}"));
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
