//! A relay that parses nothing: the lower bound for a bridge between pipes and a socket.
//!
//! It starts the tool process named by its argument, waits for its connection on a unix socket, and copies bytes both
//! ways with the same kind of I/O as the bridge.

use std::fs::OpenOptions;
use std::io;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::net::unix::pipe;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let tool = std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: plain_relay TOOL"))?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path)?;
    let mut tool = tokio::process::Command::new(tool);
    let _tool =
        tool.env("PLAIN_SOCKET", &path).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn()?;
    let (socket, _) = listener.accept().await?;
    let (mut from_tool, mut to_tool) = socket.into_split();
    // Reopened, so that each end has its own description and the original stays blocking.
    let mut input = pipe::Receiver::from_file(OpenOptions::new().read(true).open("/proc/self/fd/0")?)?;
    let mut output = pipe::Sender::from_file(OpenOptions::new().write(true).open("/proc/self/fd/1")?)?;
    let back = tokio::spawn(async move { copy(&mut from_tool, &mut output).await });
    tokio::spawn(async move { copy(&mut input, &mut to_tool).await }).await??;
    back.await??;
    Ok(())
}

async fn copy(from: &mut (impl AsyncReadExt + Unpin), to: &mut (impl AsyncWriteExt + Unpin)) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer).await? {
            0 => return to.shutdown().await,
            count => to.write_all(&buffer[..count]).await?,
        }
    }
}
