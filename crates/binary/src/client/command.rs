//! Servers as child processes, on their standard input and output.
//!
//! The process and everything it starts end with the conversation: its input is closed, then it gets SIGTERM, then
//! SIGKILL.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use protomcp_supervisor::{Command, Event, Pipes, Process, StopPolicy};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;

use crate::client::connect::Connect;

/// A program that is a server. Each stream starts a process of its own; its standard error goes to the log, with the
/// target `protomcp_binary::stderr`.
#[derive(Debug, Clone)]
pub struct CommandServer {
    command: Command,
    stop: StopPolicy,
}

impl CommandServer {
    /// A server that this command starts.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self { command: command.piped(), stop: StopPolicy::default() }
    }

    /// Sets the times between closing the input, SIGTERM and SIGKILL.
    #[must_use]
    pub fn stop(mut self, policy: StopPolicy) -> Self {
        self.stop = policy;
        self
    }
}

impl Connect for CommandServer {
    type Reader = CommandReader;
    type Writer = CommandWriter;

    async fn connect(&self) -> io::Result<(CommandReader, CommandWriter)> {
        let (mut process, events) = Process::spawn(&self.command, self.stop).await.map_err(io::Error::other)?;
        let Some(Pipes { stdin, stdout }) = process.take_pipes() else {
            unreachable!("the command asks for pipes");
        };
        let process = Arc::new(process);
        let name = self.command.program().to_string_lossy().into_owned();
        tokio::spawn(read(name, Arc::clone(&process), events));
        let reader = CommandReader { stdout, process: Arc::clone(&process) };
        Ok((reader, CommandWriter { stdin: Some(stdin), process }))
    }
}

/// Logs the lines of standard error until the process has ended. Until then it has its time to end by itself.
async fn read(name: String, process: Arc<Process>, mut events: mpsc::Receiver<Event>) {
    while let Some(event) = events.recv().await {
        match event {
            Event::Line { text, .. } => {
                tracing::info!(target: "protomcp_binary::stderr", server = name, "{text}");
            }
            Event::Exited(exit) => tracing::debug!("{name} {exit}"),
            // The writer closes the input before it asks for the stop.
            Event::Started { .. } | Event::CloseLink => {}
        }
    }
    drop(process);
}

/// Standard output of a server. Dropping it begins to stop the process.
#[derive(Debug)]
pub struct CommandReader {
    stdout: Receiver,
    process: Arc<Process>,
}

/// Standard input of a server. Dropping it closes the input and begins to stop the process.
#[derive(Debug)]
pub struct CommandWriter {
    /// `None` once it is closed.
    stdin: Option<Sender>,
    process: Arc<Process>,
}

impl AsyncRead for CommandReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdout).poll_read(cx, buf)
    }
}

impl Drop for CommandReader {
    fn drop(&mut self) {
        self.process.stop();
    }
}

impl AsyncWrite for CommandWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stdin {
            Some(stdin) => Pin::new(stdin).poll_write(cx, buf),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stdin = None;
        Poll::Ready(Ok(()))
    }
}

impl Drop for CommandWriter {
    fn drop(&mut self) {
        self.stdin = None;
        self.process.stop();
    }
}
