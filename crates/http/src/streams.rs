//! Assigns messages for the client to HTTP responses, as a value without I/O.
//!
//! Each POST with requests opens a stream. Messages of these requests go to that stream, all others to the standalone
//! stream that the client opens with GET. A stream is a queue of messages and at most one connection that takes them.
//! The response is JSON if the connection finds only answers in the queue, otherwise a stream of events. An event has a
//! number, and is in the log, from the moment at which it is queued.
//!
//! ```text
//!            all answered                    no client takes the rest
//!  Waiting ────────────────▶ answers taken ◀─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ gone
//!     │  another message came first, or the answer takes long
//!     ▼                connection ends
//!  Streaming ◀──────────────────────────────▶ Detached (the client may reconnect with Last-Event-ID)
//!                        attached
//! ```

use std::borrow::Borrow;
use std::collections::HashMap;
use std::task::Waker;
use std::time::Instant;

use protomcp_types::{Message, RequestId};

pub(crate) mod event_log;
pub(crate) mod queue;
mod stream;
pub(crate) mod stream_id;

use crate::streams::event_log::EventLog;
use crate::streams::queue::MAX_QUEUED;
use crate::streams::stream::{Phase, Queued, Stream};
use crate::streams::stream_id::{FIRST, STANDALONE, StreamId};

/// The most streams whose answers wait for an absent client.
const MAX_DETACHED: usize = 32;

/// The streams of one session.
#[derive(Debug)]
pub(crate) struct Streams<M = Message, L = ()> {
    log: L,
    open: HashMap<StreamId, Stream<M>>,
    /// The stream of each request without an answer.
    owners: HashMap<RequestId, StreamId>,
    next: StreamId,
    next_connection: u64,
    limit: usize,
    /// The limit of the messages in the queue of a stream.
    max_queued: usize,
    /// The only stream, if all messages leave by one.
    only: Option<StreamId>,
    /// No stream is given up before this time.
    next_loss: Option<Instant>,
    closed: bool,
}

/// The reason that a stream cannot be opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// This id is in use.
    Duplicate(RequestId),
    /// There are too many streams.
    TooMany,
    /// The session has ended.
    Closed,
}

/// A connection's place at a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamRef {
    pub(crate) stream: StreamId,
    connection: u64,
}

/// The state of a response that is not a stream yet.
#[derive(Debug, PartialEq)]
pub(crate) enum First<M = Message> {
    /// All answers, and no message before them.
    Answers(Vec<M>),
    /// A message that only events can carry.
    Events,
    /// Nothing yet.
    Pending,
}

/// The next step of a response that is a stream of events.
#[derive(Debug, PartialEq)]
pub(crate) enum Next<M = Message> {
    /// The next event and its number.
    Event(u64, M),
    /// Nothing yet.
    Pending,
    /// No more events for this connection.
    End,
}

/// The request that a message answers.
pub(crate) fn answered(message: &Message) -> Option<&RequestId> {
    match message {
        Message::Response(response) => response.id.as_ref(),
        Message::Request(_) | Message::Notification(_) => None,
    }
}

impl<M: Borrow<Message>, L: EventLog<M>> Streams<M, L> {
    /// At most `limit` streams at a time. All messages leave by the stream `only` if one is named.
    pub(crate) fn new(limit: usize, only: Option<StreamId>, log: L) -> Self {
        Self {
            log,
            open: HashMap::new(),
            owners: HashMap::new(),
            next: FIRST,
            next_connection: 1,
            limit,
            max_queued: MAX_QUEUED,
            only,
            next_loss: None,
            closed: false,
        }
    }

    /// Continues a session of another process. `first` is the number of the next stream, and `standalone` the number of
    /// the next event of the standalone stream if it has begun.
    pub(crate) fn restore(&mut self, first: StreamId, standalone: Option<u64>) {
        self.next = first;
        self.open.extend(standalone.map(|next| (STANDALONE, Stream::restored(next, self.max_queued))));
    }

    /// Opens a stream for these requests, with a connection that waits for their answers. Some answers may be there
    /// already.
    pub(crate) fn open(&mut self, requests: &[&RequestId], answers: Vec<M>) -> Result<StreamRef, Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        if self.open.len() >= self.limit {
            return Err(Refused::TooMany);
        }
        let id = self.next;
        for (index, request) in requests.iter().enumerate() {
            if self.owners.contains_key(*request) || requests[..index].contains(request) {
                let duplicate = RequestId::clone(request);
                return Err(Refused::Duplicate(duplicate));
            }
        }
        self.next += 1;
        self.owners.extend(requests.iter().map(|request| (RequestId::clone(request), id)));
        self.open.insert(id, Stream::new(requests.len(), answers, self.max_queued));
        self.connect(id).ok_or(Refused::Closed)
    }

    /// Attaches a connection to a stream of events; `None`: there is no such stream. The previous connection gets no
    /// more events.
    pub(crate) fn attach(&mut self, id: StreamId) -> Option<StreamRef> {
        if self.closed {
            return None;
        }
        if id == STANDALONE {
            let stream = self.open.entry(id).or_insert_with(|| Stream::new(0, Vec::new(), self.max_queued));
            if stream.phase == Phase::Waiting {
                self.log.opened(id, std::iter::empty());
                stream.begin(id, &mut self.log);
            }
        }
        self.open.get(&id).filter(|stream| stream.phase == Phase::Streaming)?;
        self.connect(id)
    }

    /// True if no connection to a stream of events can have got the event with this number. False for a stream that
    /// cannot be attached.
    pub(crate) fn is_to_come(&self, id: StreamId, number: u64) -> bool {
        match self.open.get(&id) {
            _ if self.closed => false,
            Some(stream) if stream.phase == Phase::Streaming => number >= stream.next_number(),
            // The first connection begins it.
            _ => id == STANDALONE && number > 0,
        }
    }

    fn connect(&mut self, id: StreamId) -> Option<StreamRef> {
        let stream = self.open.get_mut(&id)?;
        stream.connection = self.next_connection;
        stream.paused = false;
        (stream.until, stream.given_up) = (None, false);
        self.next_connection += 1;
        if let Some(waker) = stream.waker.take() {
            waker.wake();
        }
        Some(StreamRef { stream: id, connection: stream.connection })
    }

    /// True if a connection is at the standalone stream.
    pub(crate) fn has_listener(&self) -> bool {
        self.open.get(&STANDALONE).is_some_and(|stream| stream.connection != 0)
    }

    /// True if this connection is the one at its stream.
    pub(crate) fn is_attached(&self, StreamRef { stream, connection }: StreamRef) -> bool {
        self.open.get(&stream).is_some_and(|stream| stream.connection == connection)
    }

    /// The number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.open.values().filter(|stream| stream.connection != 0).count()
    }

    /// True if a request is unanswered.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.owners.is_empty()
    }

    /// The unanswered requests, in no order.
    pub(crate) fn unanswered_requests(&self) -> impl Iterator<Item = &RequestId> {
        self.owners.keys()
    }

    /// True if the only stream has reached its limit of messages, and none of them may be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.only == Some(STANDALONE) && self.open.get(&STANDALONE).is_some_and(|stream| stream.queue.is_full())
    }

    /// The number of the next event that a connection takes from a stream. Earlier ones were taken or dropped.
    pub(crate) fn next_number(&self, id: StreamId) -> Option<u64> {
        self.open.get(&id).map(Stream::next_number)
    }

    /// The number of the last event that was dropped from the queue of a stream before a connection took it; 0: none.
    pub(crate) fn dropped(&self, id: StreamId) -> u64 {
        self.open.get(&id).map_or(0, |stream| stream.dropped)
    }

    /// Queues a message for the client, and returns the waker of its connection.
    pub(crate) fn route(&mut self, message: M, during: Option<&RequestId>) -> Option<Waker> {
        if self.closed {
            return None;
        }
        let is_answer = matches!(message.borrow(), Message::Response(_));
        let owner = match during {
            Some(request) if is_answer => self.owners.remove(request),
            Some(request) => self.owners.get(request).copied(),
            None => None,
        };
        let id = self.only.or(owner).unwrap_or(STANDALONE);
        if is_answer && owner.is_none() && self.only.is_none() {
            tracing::debug!("an answer to a request that no stream waits for: dropped");
            return None;
        }
        if id == STANDALONE {
            self.open.entry(id).or_insert_with(|| Stream::new(0, Vec::new(), self.max_queued));
        }
        let stream = self.open.get_mut(&id)?;
        stream.push(id, message, &mut self.log);
        if is_answer && owner == Some(id) {
            stream.waiting -= 1;
        }
        let waker = stream.waker.take();
        self.tidy(id);
        waker
    }

    /// A request will not be answered.
    pub(crate) fn request_cancelled(&mut self, request: &RequestId) -> Option<Waker> {
        let id = self.owners.remove(request)?;
        let stream = self.open.get_mut(&id)?;
        stream.waiting -= 1;
        let waker = stream.waker.take();
        self.tidy(id);
        waker
    }

    /// The connection of this request may end.
    pub(crate) fn close_stream(&mut self, request: &RequestId) -> Option<Waker> {
        let stream = self.open.get_mut(self.owners.get(request)?)?;
        stream.paused = true;
        stream.waker.take()
    }

    /// The state for a connection that waits for answers; it is woken on a change.
    pub(crate) fn first(&mut self, stream_ref: StreamRef, waker: &Waker) -> First<M> {
        let closed = self.closed;
        let Some(stream) = self.at(stream_ref) else { return First::Answers(Vec::new()) };
        if stream.paused || !stream.queue.has_only_answers() {
            return First::Events;
        }
        if stream.waiting > 0 && !closed {
            stream.waker = Some(waker.clone());
            return First::Pending;
        }
        let answers = stream.queue.take_all().map(|queued| queued.message).collect();
        self.remove(stream_ref.stream);
        First::Answers(answers)
    }

    /// Turns the response into a stream of events.
    pub(crate) fn stream(&mut self, stream_ref: StreamRef) {
        let StreamRef { stream: id, connection } = stream_ref;
        let stream = self.open.get_mut(&id).filter(|stream| stream.connection == connection);
        if let Some(stream) = stream.filter(|stream| stream.phase == Phase::Waiting) {
            let unanswered = self.owners.iter().filter(|(_, owner)| **owner == id);
            self.log.opened(id, unanswered.map(|(request, _)| request));
            stream.begin(id, &mut self.log);
        }
    }

    /// The next step for a connection that streams; it is woken on a change.
    pub(crate) fn next(&mut self, stream_ref: StreamRef, waker: &Waker) -> Next<M> {
        let closed = self.closed;
        let Some(stream) = self.at(stream_ref) else { return Next::End };
        if let Some(Queued { number, message }) = stream.queue.pop() {
            let dropped = stream.queue.take_dropped();
            if dropped > 0 {
                tracing::warn!(dropped, "a stream is read too slowly: notifications were dropped");
            }
            return Next::Event(number, message);
        }
        if stream.is_complete(stream_ref.stream) {
            self.remove(stream_ref.stream);
            return Next::End;
        }
        if stream.paused || closed {
            return Next::End;
        }
        stream.waker = Some(waker.clone());
        Next::Pending
    }

    /// Detaches a connection. `until`: the time until which its client may reconnect; `None`: it cannot.
    /// Returns the requests whose messages can no longer reach the client.
    pub(crate) fn detach(&mut self, stream_ref: StreamRef, until: Option<Instant>) -> Vec<RequestId> {
        let Some(stream) = self.at(stream_ref) else { return Vec::new() };
        stream.connection = 0;
        stream.waker = None;
        if stream_ref.stream == STANDALONE {
            return Vec::new();
        }
        let mut lost = Vec::new();
        stream.until = until.filter(|_| stream.phase == Phase::Streaming);
        match stream.until {
            Some(until) => self.next_loss = Some(self.next_loss.map_or(until, |next| next.min(until))),
            None => {
                stream.phase = Phase::Lost;
                stream.queue.clear();
                lost = self.requests_of(stream_ref.stream);
            }
        }
        self.tidy(stream_ref.stream);
        lost
    }

    /// Before this time no stream is given up.
    pub(crate) fn next_loss(&self) -> Option<Instant> {
        self.next_loss
    }

    /// Gives up streams whose clients have not reconnected in time, and returns their requests. Their answers are kept
    /// for a client that reconnects later.
    pub(crate) fn give_up(&mut self, now: Instant) -> Vec<RequestId> {
        if self.next_loss.is_none_or(|next| next > now) {
            return Vec::new();
        }
        let mut late = Vec::new();
        self.next_loss = None;
        for (id, stream) in &mut self.open {
            match stream.until {
                Some(until) if until <= now => {
                    (stream.until, stream.given_up) = (None, true);
                    late.push(*id);
                }
                Some(until) => self.next_loss = Some(self.next_loss.map_or(until, |next| next.min(until))),
                None => {}
            }
        }
        late.into_iter().flat_map(|id| self.requests_of(id)).collect()
    }

    /// The requests of a connection's stream whose answers it has not taken. What waits there is dropped.
    pub(crate) fn take_undelivered(&mut self, stream_ref: StreamRef) -> Vec<RequestId> {
        let mut left = self.requests_of(stream_ref.stream);
        let Some(stream) = self.at(stream_ref) else { return Vec::new() };
        left.extend(stream.queue.take_all().filter_map(|queued| answered(queued.message.borrow()).cloned()));
        left
    }

    /// True if messages of a request can reach its client, now or when it reconnects in time.
    pub(crate) fn is_deliverable(&self, request: &RequestId) -> bool {
        let stream = self.owners.get(request).and_then(|id| self.open.get(id));
        stream.is_none_or(|stream| stream.phase != Phase::Lost && !stream.given_up)
    }

    fn requests_of(&self, id: StreamId) -> Vec<RequestId> {
        let of_stream = |(request, stream): (&RequestId, &StreamId)| (*stream == id).then(|| request.clone());
        self.owners.iter().filter_map(of_stream).collect()
    }

    /// No more messages will come. Returns the wakers of the connections.
    pub(crate) fn close(&mut self) -> Vec<Waker> {
        self.closed = true;
        self.log.closed();
        self.owners.clear();
        self.open.values_mut().filter_map(|stream| stream.waker.take()).collect()
    }

    /// Like [`Streams::close`], for a session that another process may serve: its log is needed there.
    pub(crate) fn lose(&mut self) -> Vec<Waker> {
        self.log.lost();
        self.close()
    }

    fn at(&mut self, stream_ref: StreamRef) -> Option<&mut Stream<M>> {
        self.open.get_mut(&stream_ref.stream).filter(|stream| stream.connection == stream_ref.connection)
    }

    /// Removes a stream without a connection that no client can reconnect to, and limits the number of those that wait.
    fn tidy(&mut self, id: StreamId) {
        let Some(stream) = self.open.get(&id) else { return };
        if id == STANDALONE || stream.connection != 0 || stream.waiting > 0 {
            return;
        }
        if stream.phase == Phase::Lost || stream.queue.is_empty() {
            self.remove(id);
            return;
        }
        let is_left = |(id, stream): (&StreamId, &Stream<M>)| {
            (*id != STANDALONE && stream.connection == 0 && stream.waiting == 0).then_some(*id)
        };
        let left: Vec<_> = self.open.iter().filter_map(is_left).collect();
        if let (true, Some(oldest)) = (left.len() > MAX_DETACHED, left.iter().min()) {
            tracing::debug!(stream = oldest, "dropped an answer that no client came back for");
            self.remove(*oldest);
        }
    }

    fn remove(&mut self, id: StreamId) {
        // A stream of events has a first number.
        if let Some(last) = self.open.remove(&id).and_then(|stream| stream.next.checked_sub(1)) {
            self.log.ended(id, last);
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
