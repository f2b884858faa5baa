//! A second program that lives as long as the tools need it: `pmcp dev crates/sdk/examples/sidecar.rs`.
//!
//! It starts at the first call, which waits until it is ready, and it ends with the tool process. Here it is this program
//! with another argument.

use std::process::Stdio;
use std::sync::Arc;
use std::{env, io};

use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

#[derive(Deserialize, JsonSchema)]
struct Ask {
    about: String,
}

/// The running program. Dropping it ends the program.
struct Sidecar {
    port: u16,
    _process: Child,
}

impl Sidecar {
    /// Starts it. It prints its port when it is ready.
    async fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let output = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let line = BufReader::new(output).lines().next_line().await?.unwrap_or_default();
        let port = line.parse().map_err(io::Error::other)?;
        Ok(Self { port, _process: process })
    }

    async fn ask(&self, about: &str) -> io::Result<String> {
        let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", self.port)).await?);
        stream.write_all(format!("{about}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        Ok(answer.trim_end().to_owned())
    }
}

/// The second program: answers each line.
async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    tokio::io::stdout().write_all(format!("{}\n", listener.local_addr()?.port()).as_bytes()).await?;
    loop {
        let mut stream = BufReader::new(listener.accept().await?.0);
        let mut about = String::new();
        stream.read_line(&mut about).await?;
        stream.write_all(format!("the sidecar says {about}").as_bytes()).await?;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if env::args().nth(1).as_deref() == Some("serve") {
        return Ok(serve().await?);
    }
    let sidecar = Arc::new(OnceCell::new());
    let ask = move |args: Ask| {
        let sidecar = Arc::clone(&sidecar);
        async move { sidecar.get_or_try_init(Sidecar::start).await?.ask(&args.about).await }
    };
    let ask = Tool::new("ask", "Asks the sidecar.").handler(ask).read_only();
    let registry = Registry::builder("sidecar", "1.0").tool(ask).build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
