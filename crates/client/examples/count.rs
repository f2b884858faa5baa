//! Starts a server, lists its tools and ends it:
//! `cargo run -p protomcp-client --example count --features command -- PROGRAM [ARG ..]`.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::time::Duration;

use futures_util::TryStreamExt;
use protomcp_client::{Client, Command, guardian};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // First of all: this program may have been started as the guardian of the server.
    guardian::run_if_requested();
    tokio::runtime::Runtime::new()?.block_on(count())
}

async fn count() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let program = args.next().ok_or("usage: count PROGRAM [ARG ..]")?;
    let session = Client::new("count", "1.0").spawn(Command::new(program).args(args)).await?;
    let tools: Vec<_> = session.tools().try_collect().await?;
    for tool in &tools {
        println!("{}", tool.name);
    }
    session.close(Duration::from_secs(5)).await;
    Ok(())
}
