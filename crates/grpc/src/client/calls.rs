//! The requests of one conversation: those that wait for a connection, and those that are calls.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use protomcp_bufmcp::RawMessage;

use crate::client::listener::Heard;
use crate::client::numbers;

/// An attempt to send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// On another connection than the first.
    Second,
}

/// The end of a call.
pub(super) enum Ended {
    Answer(RawMessage),
    /// The connection took no more calls. The server has not seen this one.
    NotSent(RawMessage),
}

impl Ended {
    fn id(&self) -> u64 {
        let (Self::Answer(message) | Self::NotSent(message)) = self;
        message.id
    }
}

/// The requests without an answer.
pub(super) struct Calls<F> {
    waiting: VecDeque<(RawMessage, Attempt)>,
    running: FuturesUnordered<Abortable<F>>,
    aborts: HashMap<u64, AbortHandle>,
}

impl<F> Default for Calls<F> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), running: FuturesUnordered::new(), aborts: HashMap::new() }
    }
}

impl<F: Future<Output = Ended>> Calls<F> {
    /// Takes a message of the conversation: a request, or without payload, or as a `CancelCall`, the id of one that is
    /// given up. A call that is given up ends, which the server is told, and has no answer.
    pub(super) fn take(&mut self, message: &Bytes) {
        if let Some(request) = RawMessage::split(message).filter(|request| request.payload != numbers::CANCEL_CALL) {
            return self.waiting.push_back((request, Attempt::First));
        }
        let id = RawMessage::id_of(message);
        self.waiting.retain(|(request, _)| request.id != id);
        if let Some(abort) = self.aborts.remove(&id) {
            abort.abort();
        }
    }

    /// Takes what the server says by itself: a message for the conversation, or the end of its notices, after which it is
    /// asked for them again.
    pub(super) fn hear(&mut self, heard: Heard) -> Option<RawMessage> {
        match heard {
            Heard::Message(message) => Some(message),
            Heard::Ended => {
                let listen = RawMessage { id: LISTENER, payload: numbers::LISTEN, body: Bytes::new() };
                self.waiting.push_back((listen, Attempt::First));
                None
            }
        }
    }

    /// Makes a call of each request that waits.
    pub(super) fn begin(&mut self, call: impl Fn(RawMessage, Attempt) -> F) {
        for (request, attempt) in self.waiting.drain(..) {
            let (abort, registration) = AbortHandle::new_pair();
            self.aborts.insert(request.id, abort);
            self.running.push(Abortable::new(call(request, attempt), registration));
        }
    }

    /// Sends a request once more.
    pub(super) fn retry(&mut self, request: RawMessage) {
        self.waiting.push_back((request, Attempt::Second));
    }

    /// The requests that wait, which will not be sent.
    pub(super) fn give_up(&mut self) -> impl Iterator<Item = RawMessage> {
        std::mem::take(&mut self.waiting).into_iter().map(|(request, _)| request)
    }

    /// The next end of a call; `None` if all have ended.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        loop {
            if let Ok(ended) = self.running.next().await? {
                self.aborts.remove(&ended.id());
                return Some(ended);
            }
        }
    }

    /// True if the request with this id waits or runs.
    pub(super) fn has(&self, id: u64) -> bool {
        self.aborts.contains_key(&id) || self.waiting.iter().any(|(request, _)| request.id == id)
    }

    /// True if requests wait for a connection.
    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if no request is without an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.aborts.is_empty()
    }
}

/// The id of the request to listen again, which no request of a conversation reaches.
pub(super) const LISTENER: u64 = u64::MAX;
