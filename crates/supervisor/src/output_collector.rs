//! Collects the outputs of a process for its owner: keeps the tail, queues the events, throttles the reading.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use crate::backlog::Backlog;
use crate::event::{Event, Stream};
use crate::output::Output;
use crate::tail::Tail;

/// Collects output and delivers events.
#[derive(Debug, Default)]
pub(crate) struct OutputCollector {
    backlog: Backlog,
    tail: Tail,
    /// Nothing is read before this time.
    paused_until: Option<Instant>,
    /// Events that the owner has taken since reading was paused.
    taken: usize,
    /// True if reading was paused since the owner last caught up.
    behind: bool,
}

impl OutputCollector {
    /// Handles the result of a read of `output`; returns the number of bytes.
    pub(crate) fn collect<R: AsyncRead + Unpin>(&mut self, output: &mut Output<R>, read: io::Result<usize>) -> usize {
        let stream = output.stream();
        output.accept(read, |line| self.push_line(stream, line))
    }

    /// Queues a line.
    pub(crate) fn push_line(&mut self, stream: Stream, line: String) {
        if stream == Stream::Stderr {
            self.tail.push(&line);
        }
        self.backlog.push_line(stream, line);
    }

    /// Queues an event other than a line.
    pub(crate) fn push(&mut self, event: Event) {
        self.backlog.push(event);
    }

    /// The last lines of standard error, once.
    pub(crate) fn take_tail(&mut self) -> Vec<String> {
        std::mem::take(&mut self.tail).into_lines()
    }

    /// True if the owner has received everything.
    pub(crate) fn is_drained(&self) -> bool {
        self.backlog.is_empty()
    }

    /// The time until which reading is paused.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Ends a pause. If the owner read fast during the pause, another one follows.
    pub(crate) fn resume(&mut self) {
        self.paused_until = (self.taken >= FAST_READER).then(|| Instant::now() + PAUSE);
        self.taken = 0;
    }

    /// Sends the next event when the owner has room for it. Pending while there is none. Cancel-safe.
    pub(crate) async fn deliver(&mut self, events: &mpsc::Sender<Event>) -> Result<(), mpsc::error::SendError<()>> {
        if self.backlog.is_empty() {
            return std::future::pending().await;
        }
        let room = events.reserve().await?;
        if let Some(event) = self.backlog.pop() {
            room.send(event);
            self.taken += 1;
        }
        Ok(())
    }

    /// Handles the result of [`OutputCollector::deliver`]: an error means that the receiver is gone.
    pub(crate) fn on_sent(&mut self, sent: Result<(), mpsc::error::SendError<()>>) {
        if sent.is_err() {
            self.backlog.close();
        }
    }

    /// Pauses the reading when the owner falls behind: repeatedly while the owner reads fast, and otherwise once until
    /// it has caught up.
    pub(crate) fn throttle(&mut self) {
        if self.backlog.is_below_low_water() {
            self.paused_until = None;
            self.behind = false;
        } else if self.backlog.is_above_high_water() && !self.behind {
            self.behind = true;
            self.taken = 0;
            self.paused_until = Some(Instant::now() + PAUSE);
        }
    }
}

/// The length of one pause.
const PAUSE: Duration = Duration::from_millis(100);

/// The number of events per pause that makes a fast reader: a busy owner may slow a process down to 1,000 lines per
/// second, never to less.
const FAST_READER: usize = 100;
