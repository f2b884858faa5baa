//! One stream of a session.

use std::borrow::Borrow;
use std::task::Waker;
use std::time::Instant;

use protomcp_types::Message;

use crate::streams::event_log::EventLog;
use crate::streams::queue::Queue;
use crate::streams::stream_id::{STANDALONE, StreamId};

/// A queue of messages, and at most one connection that takes them.
#[derive(Debug)]
pub(super) struct Stream<M> {
    pub(super) queue: Queue<Queued<M>>,
    /// The number of the last event that was dropped from the queue; 0: none was.
    pub(super) dropped: u64,
    /// Requests without an answer.
    pub(super) waiting: usize,
    /// The number that the next event will have; the one that opens the stream has 0. It is 0 before that.
    pub(super) next: u64,
    pub(super) phase: Phase,
    /// The connection that takes messages out; 0 is none.
    pub(super) connection: u64,
    pub(super) waker: Option<Waker>,
    /// The handler will be silent for a while.
    pub(super) paused: bool,
    /// The time until which an absent client is expected back.
    pub(super) until: Option<Instant>,
    /// That time has passed.
    pub(super) given_up: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is open whether the response is JSON or events.
    #[default]
    Waiting,
    /// The response is a stream of events.
    Streaming,
    /// No client can reconnect for it.
    Lost,
}

/// A message that waits. It has a number if the stream is one of events.
#[derive(Debug)]
pub(super) struct Queued<M> {
    pub(super) number: u64,
    pub(super) message: M,
}

impl<M> From<M> for Queued<M> {
    fn from(message: M) -> Self {
        Self { number: 0, message }
    }
}

impl<M: Borrow<Message>> Borrow<Message> for Queued<M> {
    fn borrow(&self) -> &Message {
        self.message.borrow()
    }
}

impl<M: Borrow<Message>> Stream<M> {
    /// A stream whose queue has at most `max_queued` messages that may be dropped.
    pub(super) fn new(waiting: usize, answers: Vec<M>, max_queued: usize) -> Self {
        Self {
            queue: Queue::of(answers.into_iter().map(Queued::from).collect(), max_queued),
            dropped: 0,
            waiting,
            next: 0,
            phase: Phase::Waiting,
            connection: 0,
            waker: None,
            paused: false,
            until: None,
            given_up: false,
        }
    }

    /// A stream of events that another process has begun.
    pub(super) fn restored(next: u64, max_queued: usize) -> Self {
        Self { phase: Phase::Streaming, next, ..Self::new(0, Vec::new(), max_queued) }
    }

    /// The response becomes a stream of events: those that wait get their numbers.
    pub(super) fn begin(&mut self, id: StreamId, log: &mut impl EventLog<M>) {
        (self.phase, self.next) = (Phase::Streaming, 1);
        for queued in self.queue.iter_mut() {
            queued.number = self.next;
            self.next += 1;
            log.event(id, queued.number, &mut queued.message);
        }
    }

    /// Queues a message. An event gets its number and is noted now, for a client that is absent, too.
    pub(super) fn push(&mut self, id: StreamId, message: M, log: &mut impl EventLog<M>) {
        if self.phase == Phase::Lost {
            tracing::debug!("dropped a message whose stream is lost");
            return;
        }
        let queued = if id == STANDALONE {
            let dropped = &mut self.dropped;
            self.queue.push_over(message.into(), |oldest| *dropped = oldest.number.max(*dropped))
        } else {
            self.queue.push(message.into())
        };
        if let (Phase::Streaming, Some(queued)) = (self.phase, queued) {
            queued.number = self.next;
            self.next += 1;
            log.event(id, queued.number, &mut queued.message);
        }
    }

    /// The number of the next event that a connection takes.
    pub(super) fn next_number(&self) -> u64 {
        self.queue.front().map_or(self.next, |queued| queued.number)
    }

    pub(super) fn is_complete(&self, id: StreamId) -> bool {
        id != STANDALONE && self.waiting == 0
    }
}
