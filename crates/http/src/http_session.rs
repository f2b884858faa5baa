//! A session over HTTP: the messages that its client has POSTed, and the streams that carry the replies.
//!
//! The HTTP requests of a session share its `HttpSession` with the task that serves it, as its [`Transport`]. A session
//! outlives its connections.

pub(crate) mod held;
pub(crate) mod transport;

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use protomcp_auth::Scopes;
use protomcp_server::{Owner, Reserved};
use protomcp_transport::{DeliveryFailures, Received};
use protomcp_types::{Incoming, JsonObject, Message, ProtocolVersion, RequestId, method};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::body::SourceRequest;
use crate::caller::{Caller, Principal};
use crate::config::Config;
use crate::holding::Holding;
use crate::limited_table::Use;
use crate::needed_scopes::NeededScopes;
use crate::session_log::{Outgoing, Sending, SessionLog};
use crate::sse;
use crate::store::{EventStore, event_id};
use crate::streams::stream_id::{STANDALONE, StreamId};
use crate::streams::{First, Next, Refused, StreamRef, Streams};

/// Messages that wait for the session's task. One more waits in its HTTP request.
const MAX_INBOX: usize = 64;

/// The kinds of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// A session of the stateful revisions.
    Stateful,
    /// A session of the old transport with one connection for everything. It ends with that connection.
    HttpSse,
}

#[derive(Debug)]
pub(crate) struct HttpSession {
    kind: SessionKind,
    key: Arc<str>,
    caller: Caller,
    idle: Duration,
    store: Option<Arc<dyn EventStore>>,
    /// `None`: no other process can take the session over.
    holding: Option<Arc<Holding>>,
    /// The time in which a client may resume a broken stream.
    reconnect_window: Duration,
    version: OnceLock<ProtocolVersion>,
    /// The scopes that requests of the session have needed.
    needed: OnceLock<NeededScopes>,
    /// Takes the requests that can no longer reach the client.
    delivery_failures: OnceLock<DeliveryFailures>,
    /// The free slots of the inbox. Requests that wait for one leave nothing behind when they are dropped.
    inbox_slots: Semaphore,
    state: Mutex<State>,
}

/// A stream that a connection has taken over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attached {
    pub(crate) stream_ref: StreamRef,
    /// The number of the next event for the connection.
    pub(crate) next: u64,
    /// The number of the last event that was dropped from the queue; 0: none was.
    pub(crate) dropped: u64,
}

/// A client names an event as read that no connection can have got.
#[derive(Debug)]
pub(crate) struct NeverGiven;

/// A POSTed message, and the request that it came with.
#[derive(Debug)]
struct Posted {
    received: Received,
    source: Option<SourceRequest>,
}

#[derive(Debug)]
struct State {
    streams: Streams<Outgoing, SessionLog>,
    inbox: VecDeque<Posted>,
    /// Wakes the session's task while it waits for a message.
    reader: Option<Waker>,
    /// No more messages will come.
    ended: bool,
    /// It has ended because another process may serve it.
    is_lost: bool,
    last_used: Instant,
}

impl HttpSession {
    /// A session of any kind, for this process alone.
    pub(crate) fn new(kind: SessionKind, key: Box<str>, caller: &Caller, config: &Config) -> Arc<Self> {
        let store = config.streams.event_store.clone().filter(|_| kind == SessionKind::Stateful);
        Arc::new(Self::of(kind, SessionLog::new(store, caller.owner(), key.into()), caller, config))
    }

    fn of(kind: SessionKind, log: SessionLog, caller: &Caller, config: &Config) -> Self {
        let only = match kind {
            SessionKind::Stateful => None,
            SessionKind::HttpSse => Some(STANDALONE),
        };
        Self {
            kind,
            key: Arc::clone(log.session()),
            caller: caller.clone(),
            idle: config.limits.session_idle,
            store: log.store().cloned(),
            holding: None,
            reconnect_window: config.streams.reconnect_window,
            version: OnceLock::new(),
            needed: OnceLock::new(),
            delivery_failures: OnceLock::new(),
            inbox_slots: Semaphore::new(MAX_INBOX),
            state: Mutex::new(State {
                streams: Streams::new(config.limits.max_streams, only, log),
                inbox: VecDeque::new(),
                reader: None,
                ended: false,
                is_lost: false,
                last_used: Instant::now(),
            }),
        }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn kind(&self) -> SessionKind {
        self.kind
    }

    /// The owner that the session counts for when limits are shared.
    pub(crate) fn owner(&self) -> Owner {
        self.caller.owner()
    }

    /// The negotiated revision; `None` before the handshake.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.version.get().copied()
    }

    /// True if this caller may use the session.
    pub(crate) fn belongs_to(&self, principal: Option<&Principal>) -> bool {
        self.caller.principal.as_ref() == principal
    }

    /// Adds scopes that a request has needed.
    pub(crate) fn needs(&self, scopes: &Scopes) {
        if scopes.is_empty() {
            return;
        }
        let needed = self.needed.get_or_init(NeededScopes::default);
        match &self.holding {
            Some(holding) if !needed.get().include(scopes) => {
                needed.add(scopes);
                holding.keep_scopes(&needed.get());
            }
            Some(_) => {}
            None => needed.add(scopes),
        }
    }

    /// The scopes that requests of the session have needed.
    pub(crate) fn needed(&self) -> Scopes {
        self.needed.get().map_or_else(Scopes::default, NeededScopes::get)
    }

    /// The store of events for clients that reconnect, if the revision and the configuration allow it.
    pub(crate) fn store(&self) -> Option<&Arc<dyn EventStore>> {
        self.store.as_ref()
    }

    /// True if clients of this session understand an event without a message.
    pub(crate) fn can_open_empty(&self) -> bool {
        self.store().is_some() && self.version() >= Some(ProtocolVersion::V2025_11_25)
    }

    /// Opens a stream for requests.
    pub(crate) fn open(&self, requests: &[&RequestId], answers: Vec<Message>) -> Result<StreamRef, Refused> {
        let answers = answers.into_iter().map(|answer| Outgoing::from(Reserved::from(answer))).collect();
        self.used().streams.open(requests, answers)
    }

    /// Takes over a stream for a client that has read it up to the event `last`. `None`: it cannot be taken over.
    ///
    /// # Errors
    /// If no connection can have got this event. The stream stays with the connection that has it.
    pub(crate) fn attach(&self, stream: StreamId, last: u64) -> Result<Option<Attached>, NeverGiven> {
        let mut state = self.used();
        if state.streams.is_to_come(stream, last) {
            return Err(NeverGiven);
        }
        let Some(stream_ref) = state.streams.attach(stream) else { return Ok(None) };
        let next = state.streams.next_number(stream).unwrap_or_default();
        Ok(Some(Attached { stream_ref, next, dropped: state.streams.dropped(stream) }))
    }

    /// True if this connection was not displaced by another one.
    pub(crate) fn is_attached(&self, stream_ref: StreamRef) -> bool {
        self.state().streams.is_attached(stream_ref)
    }

    /// Opens the standalone stream if it is not open.
    pub(crate) fn listen(&self) -> Option<(StreamRef, u64)> {
        let mut state = self.used();
        if state.streams.has_listener() {
            return None;
        }
        let stream_ref = state.streams.attach(STANDALONE)?;
        Some((stream_ref, state.streams.next_number(STANDALONE).unwrap_or_default()))
    }

    /// Delivers a message to the session's task once its inbox has a slot. `false`: the session has ended.
    pub(crate) async fn deliver(&self, received: Received, source: Option<SourceRequest>) -> bool {
        // The semaphore is closed when the session ends.
        let Ok(slot) = self.inbox_slots.acquire().await else { return false };
        let reader = {
            let mut state = self.used();
            if state.ended {
                return false;
            }
            slot.forget();
            // Clients rarely send two messages concurrently, and an idle session keeps the memory of its inbox.
            state.inbox.reserve_exact(1);
            state.inbox.push_back(Posted { received, source });
            state.reader.take()
        };
        reader.into_iter().for_each(Waker::wake);
        true
    }

    pub(crate) fn first(&self, stream_ref: StreamRef, waker: &Waker) -> First<Outgoing> {
        self.state().streams.first(stream_ref, waker)
    }

    pub(crate) fn stream(&self, stream_ref: StreamRef) {
        self.state().streams.stream(stream_ref);
    }

    /// The next step for a connection that streams.
    pub(crate) fn next(&self, stream_ref: StreamRef, waker: &Waker) -> Next<Sending> {
        let (next, reader) = {
            let mut state = self.state();
            let was_full = state.streams.is_full();
            let next = match state.streams.next(stream_ref, waker) {
                Next::Event(number, outgoing) => {
                    let id = || self.store.is_some().then(|| event_id(stream_ref.stream, number));
                    Next::Event(number, outgoing.into_event(|message| sse::event(id().as_deref(), message)))
                }
                Next::Pending => Next::Pending,
                Next::End => Next::End,
            };
            let has_room = was_full && !state.streams.is_full();
            (next, if has_room { state.reader.take() } else { None })
        };
        reader.into_iter().for_each(Waker::wake);
        next
    }

    /// A request will not be answered.
    pub(crate) fn request_cancelled(&self, request: &RequestId) {
        let waker = self.state().streams.request_cancelled(request);
        waker.into_iter().for_each(Waker::wake);
    }

    /// A connection has closed.
    pub(crate) fn detach(&self, stream_ref: StreamRef) {
        let mut state = self.used();
        let next_loss = state.streams.next_loss();
        let until = self.store().map(|_| state.last_used.into_std() + self.reconnect_window);
        let lost = state.streams.detach(stream_ref, until);
        // A session of the old transport ends with its connection.
        if self.kind != SessionKind::Stateful {
            self.end_in(state);
        } else if state.streams.next_loss() != next_loss {
            // The next deadline may now be earlier than the session's task knows.
            wake(state);
        } else {
            drop(state);
        }
        self.report(lost);
    }

    /// Reports the requests that can no longer reach the client.
    fn report(&self, lost: Vec<RequestId>) {
        if let Some(failures) = self.delivery_failures.get() {
            lost.into_iter().for_each(|request| failures.report(request));
        }
    }

    /// Gives up streams whose clients did not reconnect in time. Returns the next deadline.
    fn give_up(&self) -> Option<Instant> {
        let (lost, next) = {
            let mut state = self.state();
            (state.streams.give_up(Instant::now().into_std()), state.streams.next_loss())
        };
        self.report(lost);
        next.map(Instant::from_std)
    }

    /// No more messages will come: the session's task ends.
    pub(crate) fn end(&self) {
        self.end_in(self.state());
    }

    fn end_in(&self, mut state: MutexGuard<'_, State>) {
        state.ended = true;
        wake(state);
        self.inbox_slots.close();
    }

    /// The client ends its session: open requests are cancelled, after all of its earlier messages.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        if !state.ended {
            let cancelled: Vec<_> = state.streams.unanswered_requests().map(cancellation).collect();
            state.inbox.extend(cancelled);
        }
        self.end_in(state);
    }

    /// True if the session's task has ended or is ending.
    pub(crate) fn is_over(&self) -> bool {
        self.state().ended
    }

    /// The time since the client was last active; `None` while it is connected or owed an answer.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.unused_since().map(|last| last.elapsed())
    }

    /// The use of the session, for the session table.
    pub(crate) fn last_use(&self, now: Instant) -> Use {
        Use { is_established: self.version().is_some(), last: self.unused_since().unwrap_or(now) }
    }

    fn unused_since(&self) -> Option<Instant> {
        let state = self.state();
        let is_used = state.streams.connections() > 0 || state.streams.is_waiting() || !state.inbox.is_empty();
        (!is_used).then_some(state.last_used)
    }

    fn poll_received(&self, waker: &Waker) -> Poll<Option<Posted>> {
        let mut state = self.state();
        // A client that does not read its answers is not served until it does.
        if !state.ended && state.streams.is_full() {
            state.reader = Some(waker.clone());
            return Poll::Pending;
        }
        let Some(arrived) = state.inbox.pop_front() else {
            if state.ended {
                return Poll::Ready(None);
            }
            state.reader = Some(waker.clone());
            return Poll::Pending;
        };
        drop(state);
        self.inbox_slots.add_permits(1);
        Poll::Ready(Some(arrived))
    }

    fn route(&self, message: Reserved, during: Option<&RequestId>) {
        let waker = self.state().streams.route(message.into(), during);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The session's task has ended: no more messages will be sent. A session that the shutdown of its server has ended goes
    /// on in another process.
    fn close(&self) {
        if !self.is_here() {
            self.lose();
        }
        let (wakers, is_over, is_lost) = {
            let mut state = self.state();
            let is_over = mem::replace(&mut state.ended, true) || self.version().is_none();
            state.inbox.clear();
            (state.streams.close(), is_over, state.is_lost)
        };
        if let Some(holding) = self.holding.as_ref().filter(|_| !is_lost) {
            holding.end(is_over);
        }
        self.inbox_slots.close();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn used(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.last_used = Instant::now();
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let reader = state.reader.take();
    drop(state);
    reader.into_iter().for_each(Waker::wake);
}

/// Acts as if the client had cancelled this request.
fn cancellation(request: &RequestId) -> Posted {
    let params = JsonObject::new().with("requestId", request.to_raw()).into();
    let received = Ok(Incoming::One(Message::notification(method::CANCELLED, params)));
    Posted { received, source: None }
}

#[cfg(test)]
mod tests;
