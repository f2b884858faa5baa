//! Servers as child processes, on their standard input and output.
//!
//! The process and everything it starts end with the conversation: its input is closed, then it gets SIGTERM, then
//! SIGKILL.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use protomcp_supervisor::{Command, Event, Pipes, Process, StderrHandler, StopPolicy};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot};

use crate::client::connect::Connect;

/// A program that is a server. Each stream starts its own process.
#[derive(Debug, Clone)]
pub struct CommandServer {
    command: Command,
    stop: StopPolicy,
    stderr: StderrHandler,
}

impl CommandServer {
    /// A server that this command starts. Standard error goes to the log, with the target `protomcp_bufmcp::stderr`.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self { command: command.piped(), stop: StopPolicy::default(), stderr: StderrHandler::default() }
    }

    /// Gets the lines of standard error, instead of the log. The function must not block.
    #[must_use]
    pub fn on_stderr(mut self, handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = StderrHandler::new(handler);
        self
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
        let (ended, end) = oneshot::channel();
        let stderr = self.stderr.clone();
        tokio::spawn(read(name, stderr, Arc::clone(&process), events, ended));
        let reader = CommandReader { stdout, process: Arc::clone(&process), end: Some(end), is_over: false };
        Ok((reader, CommandWriter { stdin: Some(stdin), process }))
    }
}

/// Passes the lines of standard error on until the process has ended. Until then it has its time to end by itself.
async fn read(
    name: String,
    stderr: StderrHandler,
    process: Arc<Process>,
    mut events: mpsc::Receiver<Event>,
    ended: oneshot::Sender<String>,
) {
    let mut ended = Some(ended);
    while let Some(event) = events.recv().await {
        match event {
            Event::Line { text, .. } => stderr.line(&text, |line| {
                tracing::info!(target: "protomcp_bufmcp::stderr", server = name, "{line}");
            }),
            Event::Exited(exit) => {
                // A reader that is gone does not want to know.
                ended.take().map(|ended| ended.send(format!("{name} {exit}")));
            }
            // The writer closes the input before it asks for the stop.
            Event::Started { .. } | Event::CloseLink => {}
        }
    }
    drop(process);
}

/// Standard output of a server. Its end is an error with the exit status. Dropping it begins to stop the process.
#[derive(Debug)]
pub struct CommandReader {
    stdout: Receiver,
    process: Arc<Process>,
    /// `None` once it was told.
    end: Option<oneshot::Receiver<String>>,
    /// Standard output has ended.
    is_over: bool,
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
        if !self.is_over {
            let before = buf.filled().len();
            match Pin::new(&mut self.stdout).poll_read(cx, buf) {
                Poll::Ready(Ok(())) if buf.filled().len() == before && buf.remaining() > 0 => self.is_over = true,
                other => return other,
            }
            // A server that has closed its output is of no use; if it has not ended yet, it has to.
            self.process.stop();
        }
        let Some(end) = &mut self.end else { return Poll::Ready(Ok(())) };
        let words = std::task::ready!(Pin::new(end).poll(cx));
        self.end = None;
        Poll::Ready(words.map_or(Ok(()), |words| Err(io::Error::other(words))))
    }
}

impl Drop for CommandReader {
    fn drop(&mut self) {
        self.process.stop();
    }
}

impl AsyncWrite for CommandWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let Some(stdin) = &mut self.stdin else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        match Pin::new(stdin).poll_write(cx, buf) {
            // Most likely it has ended, and the reader gets the reason; if not, it has to.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.process.stop();
                Poll::Pending
            }
            outcome => outcome,
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
