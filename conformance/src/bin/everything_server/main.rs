//! The server that the official conformance suite talks to, written as any author would write one: every tool, prompt,
//! resource and completion that the suite asks for, from plain functions.
//!
//! Usage: everything_server [--port N]        (without a port: stdio)

mod asking;
mod content;
mod plain;
mod prompts;
mod resources;
mod rounds;
mod tasks;

use std::process::ExitCode;

use protomcp_http::{Config, Listener, ListenerConfig, StreamableHttp};
use protomcp_mcp::transport::stdio::stdio;
use protomcp_typed::{DefinitionError, Registry};
use tokio::net::TcpListener;

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
    let registry = everything()?;
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, None) => registry.serve(stdio()?).await?,
        (Some("--port"), Some(port)) => {
            let socket = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
            tell(&format!("listening on http://{}/mcp", socket.local_addr()?));
            let tools = registry.clone();
            let service = StreamableHttp::with_tools(registry.server(), Config::default(), move |tool| {
                tools.tool_definition(tool)
            });
            Listener::new(service, ListenerConfig::default()).serve(socket).await?;
        }
        _ => return Err("usage: everything_server [--port N]".into()),
    }
    Ok(())
}

fn everything() -> Result<Registry, DefinitionError> {
    let builder = Registry::builder("everything", env!("CARGO_PKG_VERSION"));
    let builder = tasks::add(rounds::add(prompts::add(resources::add(asking::add(plain::add(builder))))));
    let registry = builder.build()?;
    plain::add_triggers(&registry)?;
    Ok(registry)
}

/// For whoever started this.
#[expect(clippy::print_stderr, reason = "a program may talk to its user")]
fn tell(text: &str) {
    eprintln!("{text}");
}
