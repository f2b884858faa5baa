//! Between the outputs of a process and its owner: keeps the tail, queues the events, sets the pace.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use crate::backlog::Backlog;
use crate::event::{Event, Stream};
use crate::output::Output;
use crate::tail::Tail;

/// Writes down what happens and passes it on.
#[derive(Debug, Default)]
pub(crate) struct OutputCollector {
    backlog: Backlog,
    tail: Tail,
    /// Nothing is read before this time.
    paused_until: Option<Instant>,
    /// Events the owner has taken since reading was paused_until up.
    taken: usize,
    /// Whether the owner has had its moment since it last caught up.
    behind: bool,
}

impl OutputCollector {
    /// Takes what a read of `output` has just answered; how many bytes that were.
    pub(crate) fn collect<R: AsyncRead + Unpin>(&mut self, output: &mut Output<R>, read: io::Result<usize>) -> usize {
        let stream = output.stream();
        output.accept(read, |line| self.push_line(stream, line))
    }

    /// Takes a line.
    pub(crate) fn push_line(&mut self, stream: Stream, line: String) {
        if stream == Stream::Stderr {
            self.tail.push(&line);
        }
        self.backlog.push_line(stream, line);
    }

    /// Takes an event that is no line.
    pub(crate) fn push(&mut self, event: Event) {
        self.backlog.push(event);
    }

    /// The last lines of standard error, once.
    pub(crate) fn take_tail(&mut self) -> Vec<String> {
        std::mem::take(&mut self.tail).into_lines()
    }

    /// Whether the owner was handed everything.
    pub(crate) fn is_drained(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Until when nothing is to be read.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// That time has come. An owner who was brisk meanwhile is given more of it.
    pub(crate) fn resume(&mut self) {
        self.paused_until = (self.taken >= FAST_READER).then(|| Instant::now() + PAUSE);
        self.taken = 0;
    }

    /// Hands on the next event when the owner has room for it. Never returns while there is none. Cancel-safe.
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

    /// Takes what [`OutputCollector::deliver`] has just answered: nobody listens after an error.
    pub(crate) fn on_sent(&mut self, sent: Result<(), mpsc::error::SendError<()>>) {
        if sent.is_err() {
            self.backlog.close();
        }
    }

    /// Holds up the reading when the owner falls behind: as long as it catches up briskly, and otherwise for one
    /// moment until it has caught up.
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

/// How long an owner who falls behind may hold up the reading.
const PAUSE: Duration = Duration::from_millis(100);

/// An owner who takes this many events in that time may go on: a process may be slowed down to 1,000 lines per second
/// by a busy owner, never to less.
const FAST_READER: usize = 100;
