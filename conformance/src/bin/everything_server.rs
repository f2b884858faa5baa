//! The server that the official conformance suite and the published clients talk to: all handlers of this crate.
//!
//! Usage: everything_server [--page N] [--port N]        (N entries on a page of a list; without a port: stdio)

use std::process::ExitCode;

use protomcp_conformance::handlers::everything;
use protomcp_http::{Config, Listener, StreamableHttp};
use protomcp_transport::stdio;
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
    let (mut page, mut port) = (PAGE_SIZE, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--page", Some(entries)) => page = entries.parse()?,
            ("--port", Some(number)) => port = Some(number.parse()?),
            _ => return Err("usage: everything_server [--page N] [--port N]".into()),
        }
    }
    let registry = everything(page)?;
    let Some(port) = port else { return Ok(registry.serve(stdio()?).await?) };
    let listener = Listener::bind(("127.0.0.1", port)).await?;
    tell(&format!("listening on http://{}/mcp", listener.local_addr()?));
    let service = StreamableHttp::new(registry.server(), Config::default().with_legacy_sse());
    Ok(protomcp_http::serve(listener, service).await?)
}

/// Writes to standard error, for the program that started this one.
#[expect(clippy::print_stderr, reason = "a program may talk to its user")]
fn tell(text: &str) {
    eprintln!("{text}");
}
