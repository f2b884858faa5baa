//! The tools of a file inside an axum application, together with its other routes; saving the file reloads them.
//!
//! `cargo run -p protomcp-bridge --example embedded_in_axum -- tools.py`

#![expect(clippy::print_stderr, reason = "an example talks to its user")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use axum::Router;
use axum::routing::get;
use protomcp_bridge::{Bridge, ToolFile, Watch, guardian};
use protomcp_http::{Config, StreamableHttp};
use tokio::net::TcpListener;

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
    let file = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: embedded_in_axum TOOL_FILE")?;
    let bridge = Bridge::tool_file(&ToolFile::new(&file)).watch(Watch::file(&file)).start().await?;
    let mcp = StreamableHttp::new(bridge.server(), Config::default());
    let app = Router::new().route("/", get(async || "hello from the application")).route_service("/mcp", mcp);
    let socket = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("http://{}", socket.local_addr()?);
    axum::serve(socket, app)
        .with_graceful_shutdown(async move {
            // Without signals it serves until it is killed.
            if tokio::signal::ctrl_c().await.is_ok() {
                bridge.drain();
                bridge.shutdown().await;
            }
        })
        .await?;
    Ok(())
}
