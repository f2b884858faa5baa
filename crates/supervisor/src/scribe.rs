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
pub(crate) struct Scribe {
    backlog: Backlog,
    tail: Tail,
    /// Nothing is read before this time.
    held: Option<Instant>,
    /// Events the owner has taken since reading was held up.
    taken: usize,
    /// Whether the owner has had its moment since it last caught up.
    behind: bool,
}

impl Scribe {
    /// Takes what a read of `output` has just answered; how many bytes that were.
    pub(crate) fn write<R: AsyncRead + Unpin>(&mut self, output: &mut Output<R>, read: io::Result<usize>) -> usize {
        let stream = output.stream();
        output.take(read, |line| self.note(stream, line))
    }

    /// Takes a line.
    pub(crate) fn note(&mut self, stream: Stream, line: String) {
        if stream == Stream::Stderr {
            self.tail.push(&line);
        }
        self.backlog.push_line(stream, line);
    }

    /// Takes an event that is no line.
    pub(crate) fn tell(&mut self, event: Event) {
        self.backlog.push(event);
    }

    /// The last lines of standard error, once.
    pub(crate) fn take_tail(&mut self) -> Vec<String> {
        std::mem::take(&mut self.tail).into_lines()
    }

    /// Whether the owner was handed everything.
    pub(crate) fn has_told_all(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Until when nothing is to be read.
    pub(crate) fn held(&self) -> Option<Instant> {
        self.held
    }

    /// That time has come. An owner who was brisk meanwhile is given more of it.
    pub(crate) fn release(&mut self) {
        self.held = (self.taken >= BRISK).then(|| Instant::now() + HOLD);
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

    /// Takes what [`Scribe::deliver`] has just answered: nobody listens after an error.
    pub(crate) fn heed(&mut self, sent: Result<(), mpsc::error::SendError<()>>) {
        if sent.is_err() {
            self.backlog.close();
        }
    }

    /// Holds up the reading when the owner falls behind: as long as it catches up briskly, and otherwise for one
    /// moment until it has caught up.
    pub(crate) fn pace(&mut self) {
        if self.backlog.is_relieved() {
            self.held = None;
            self.behind = false;
        } else if self.backlog.is_crowded() && !self.behind {
            self.behind = true;
            self.taken = 0;
            self.held = Some(Instant::now() + HOLD);
        }
    }
}

/// How long an owner who falls behind may hold up the reading.
const HOLD: Duration = Duration::from_millis(100);

/// An owner who takes this many events in that time may go on: a process may be slowed down to 1,000 lines per second
/// by a busy owner, never to less.
const BRISK: usize = 100;
