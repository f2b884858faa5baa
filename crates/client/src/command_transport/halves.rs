//! The two halves of a connection with a child process. The process ends when both are gone.

use std::sync::Arc;
use std::time::Duration;

use protomcp_session::Extensions;
use protomcp_supervisor::Process;
use protomcp_transport::lines::{LinesSink, LinesSource};
use protomcp_transport::{Received, Sink, Source, TransportError};
use protomcp_types::{Message, RequestId};
use tokio::net::unix::pipe::Sender;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::command_transport::output::{Output, OutputLimit};
use crate::command_transport::stderr::Ended;
use crate::reconnection::ServerEnd;

/// The receiving half.
#[derive(Debug)]
pub struct CommandSource {
    lines: LinesSource<Output>,
    limit: OutputLimit,
    process: Arc<Process>,
    end: watch::Receiver<Ended>,
    /// Standard output has ended.
    is_over: bool,
}

/// The sending half. Dropping it closes standard input and begins to stop the process.
#[derive(Debug)]
pub struct CommandSink {
    /// `None` only while it is dropped.
    lines: Option<LinesSink<Sender>>,
    process: Arc<Process>,
    /// The process has closed its input, and the source has until then to notice its end.
    closed_until: Option<Instant>,
}

impl CommandSource {
    pub(crate) fn new(
        lines: LinesSource<Output>,
        limit: OutputLimit,
        process: Arc<Process>,
        end: watch::Receiver<Ended>,
    ) -> Self {
        Self { lines, limit, process, end, is_over: false }
    }
}

impl Source for CommandSource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        if !self.is_over {
            match self.lines.next().await {
                Ok(Some(received)) => return Ok(Some(received)),
                Ok(None) | Err(TransportError::Closed) => self.is_over = true,
                Err(error) => return Err(error),
            }
        }
        // A server that has closed its output is of no use; if it has not ended yet, it has to.
        self.process.stop();
        let ended = self.end.wait_for(|end| *end != Ended::No).await;
        drop(ended);
        Ok(None)
    }

    fn extensions(&mut self) -> Extensions {
        match (&*self.end.borrow(), self.is_over) {
            (Ended::Yes(text), true) => {
                let text = self.limit.exceeded().unwrap_or_else(|| text.clone());
                Extensions::default().with(Arc::new(ServerEnd(text)))
            }
            _ => self.lines.extensions(),
        }
    }

    fn text_len(&self) -> usize {
        self.lines.text_len()
    }
}

impl CommandSink {
    pub(crate) fn new(lines: LinesSink<Sender>, process: Arc<Process>) -> Self {
        Self { lines: Some(lines), process, closed_until: None }
    }
}

impl Sink for CommandSink {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        match &mut self.lines {
            Some(lines) => lines.send(message, during),
            None => Err(TransportError::Closed),
        }
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        let Some(lines) = &mut self.lines else { return Err(TransportError::Closed) };
        match lines.flush().await {
            // The process has closed its input, most likely because it has ended. Then the source knows more.
            Err(TransportError::Closed) => {
                // Each event begins the flush anew, and not this time.
                let until = *self.closed_until.get_or_insert_with(|| Instant::now() + LAST_WORDS);
                tokio::time::sleep_until(until).await;
                Err(TransportError::Closed)
            }
            outcome => outcome,
        }
    }

    fn unwritten(&self) -> usize {
        self.lines.as_ref().map_or(0, Sink::unwritten)
    }
}

impl Drop for CommandSink {
    fn drop(&mut self) {
        // MCP 2025-11-25, basic/lifecycle, shutdown: first the input is closed.
        self.lines = None;
        self.process.stop();
    }
}

/// The time for which a source may take to notice the end of a process.
const LAST_WORDS: Duration = Duration::from_secs(1);
