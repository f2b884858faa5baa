//! Servers as child processes: JSON lines over standard input and output (MCP 2025-11-25, basic/transports, stdio).
//!
//! The process and everything it starts end with the connection: its input is closed, then it gets SIGTERM, then
//! SIGKILL. Dropping the transport kills immediately, also outside a runtime.

mod halves;
mod output;
mod restart;
mod stderr;

use std::sync::Arc;

use protomcp_session::{CloseReason, Mode};
use protomcp_supervisor::{Backoff, Command, Pipes, Process, SpawnError, StderrHandler, StopPolicy};
use protomcp_transport::Transport;
use protomcp_transport::lines::Lines;
use tokio::sync::watch;

use crate::client::Client;
use crate::command_transport::halves::{CommandSink, CommandSource};
use crate::command_transport::output::Output;
use crate::command_transport::restart::Restarting;
use crate::command_transport::stderr::Ended;
use crate::reconnection::Reconnection;
use crate::session::ClientSession;

/// A server that runs as a child process. [`CommandTransport::spawn`] starts it, and [`Client::spawn_transport`] or
/// [`Client::connect`] opens a session with it.
///
/// ```no_run
/// use protomcp_client::{Backoff, Client, Command, CommandTransport};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = CommandTransport::new(Command::new("python3").arg("server.py"))
///     .on_stderr(|line| eprintln!("server.py: {line}"))
///     .restart(Backoff::default());
/// let session = Client::new("host", "1.0").spawn_transport(server).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct CommandTransport {
    command: Command,
    stop: StopPolicy,
    stderr: StderrHandler,
    restart: Option<Backoff>,
    max_output: u64,
}

/// A process that was started, as a transport.
#[derive(Debug)]
pub struct Running {
    source: CommandSource,
    sink: CommandSink,
}

/// The reason why a session with a new process could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnedError {
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The connection could not be opened. The text has the end of the process and its last words, if it has ended.
    #[error(transparent)]
    Connect(#[from] CloseReason),
}

impl CommandTransport {
    /// Starts this program. Standard error goes to the log, with the target `protomcp_client::stderr`.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self {
            command: command.piped(),
            stop: StopPolicy::default(),
            stderr: StderrHandler::default(),
            restart: None,
            max_output: u64::MAX,
        }
    }

    /// Gets the lines of standard error, instead of the log, and lines of standard output that are not messages, of which 20
    /// in a second at most. The function must not block.
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

    /// Stops a process that has written this number of bytes to standard output, messages or not, and ends the connection
    /// with a reason that says so. Up to one read more may be taken. Unbounded by default: a connection that lasts has any
    /// number of messages.
    #[must_use]
    pub fn max_output(mut self, bytes: u64) -> Self {
        self.max_output = bytes;
        self
    }

    /// Starts the process again when it ends by itself, with these pauses. Requests without an answer fail, as
    /// [retryable](protomcp_session::RequestError::is_retryable); later ones wait for the new process. Subscriptions and
    /// the log level are renewed, and changes of all lists and watched resources are announced. Only sessions of [`Client::spawn_transport`]
    /// restart.
    #[must_use]
    pub fn restart(mut self, backoff: Backoff) -> Self {
        self.restart = Some(backoff);
        self
    }

    /// Starts the process, for [`Client::connect`]. It is not restarted.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing runs after one.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn spawn(&self) -> Result<Running, SpawnError> {
        let (mut process, events) = Process::spawn(&self.command, self.stop).await?;
        let Some(Pipes { stdin, stdout }) = process.take_pipes() else {
            unreachable!("the command asks for pipes");
        };
        let process = Arc::new(process);
        let (ended, end) = watch::channel(Ended::No);
        let name = self.command.program().to_string_lossy().into_owned();
        tokio::spawn(stderr::read(name.clone(), self.stderr.clone(), events, ended));
        let (output, limit) = Output::new(stdout, name.clone(), self.max_output);
        let lines = Lines::new(output, stdin).on_other_text(stderr::stray(name, self.stderr.clone()));
        let (lines, sink) = lines.split();
        let source = CommandSource::new(lines, limit, Arc::clone(&process), end);
        Ok(Running { source, sink: CommandSink::new(sink, process) })
    }
}

impl Transport for Running {
    type Source = CommandSource;
    type Sink = CommandSink;

    fn split(self) -> (CommandSource, CommandSink) {
        (self.source, self.sink)
    }
}

impl Client {
    /// Starts a program and opens a session with it.
    ///
    /// ```no_run
    /// use protomcp_client::{Client, Command};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Client::new("host", "1.0").spawn(Command::new("my-server")).await?;
    /// println!("{} tools on the first page", session.list_tools(None).await?.items.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the program cannot be started, or the connection cannot be opened.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn spawn(&self, command: Command) -> Result<ClientSession, SpawnedError> {
        self.spawn_transport(CommandTransport::new(command)).await
    }

    /// Like [`Client::spawn`], with settings for the process.
    ///
    /// # Errors
    /// See [`Client::spawn`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn spawn_transport(&self, transport: CommandTransport) -> Result<ClientSession, SpawnedError> {
        match self.start(&transport).await {
            // Some servers end at a request that they do not know; a handshake they all know.
            Err(SpawnedError::Connect(CloseReason::ByServer(_))) if self.chosen_mode() == Mode::Auto => {
                self.clone().mode(Mode::Stateful).start(&transport).await
            }
            outcome => outcome,
        }
    }

    async fn start(&self, transport: &CommandTransport) -> Result<ClientSession, SpawnedError> {
        let running = transport.spawn().await?;
        let reconnection = match transport.restart {
            Some(backoff) => Reconnection::Ready(Box::new(Restarting::new(transport.clone(), backoff))),
            None => Reconnection::Never,
        };
        Ok(self.connect_with(running, reconnection).await?)
    }
}
