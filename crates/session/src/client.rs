//! One conversation with a server, as a value: eras, handshake, correlation, rounds of questions, tasks, deadlines and
//! cancellation, without I/O.
//!
//! Calls, messages and the time go in; [`ClientConnection::poll_transmit`] and [`ClientConnection::poll_event`] return
//! the consequences. The driver around it (`protomcp-client`) owns the transport, the tasks and the clock.
//!
//! Both eras of MCP are one conversation to the caller: a call has one answer, after however many rounds, polls and new
//! sessions. **Each call gets exactly one [`ClientEvent::Answer`]**, unless it was cancelled.

mod asked;
mod call;
mod cancelling;
mod config;
mod error;
mod event;
mod exchange;
mod failure;
mod heartbeat;
mod identity;
mod incoming;
mod listen_state;
mod listening;
mod opening;
mod phase;
mod rounds;
mod sending;
mod server_view;
mod tasks;
mod timers;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_types::{ErrorObject, JsonBuf, JsonObject, Level, Malformed, Message, Params, Response, method};

use crate::client::asked::AskedRequests;
use crate::client::call::{Call, Calls};
use crate::client::exchange::Exchanges;
use crate::client::failure::Failure;
use crate::client::heartbeat::Heartbeat;
use crate::client::identity::Identity;
use crate::client::listen_state::Listening;
use crate::client::phase::Phase;
use crate::outgoing::CallId;
use crate::pending::RequestKey;

pub use crate::client::call::{OutgoingCall, TaskWish};
pub use crate::client::config::{Channel, ClientConfig, ClientLimits, Mode, Pings};
pub use crate::client::error::{CloseReason, OpenError, RequestError};
pub use crate::client::event::{AnswerFacts, ClientEvent, RequestFacts, ServerQuestion, TaskNotice, Transmit};
pub use crate::client::server_view::ServerView;

/// A client's end of one connection.
#[derive(Debug)]
pub struct ClientConnection {
    config: ClientConfig,
    identity: Identity,
    log_level: Option<Level>,
    phase: Phase,
    calls: Calls,
    exchanges: Exchanges,
    /// The exchange that has opened the session. Those before it belong to sessions that are over.
    session_since: u64,
    /// The calls that asked for progress, by token.
    tokens: HashMap<u64, CallId>,
    incoming: AskedRequests,
    listening: Listening,
    heartbeat: Heartbeat,
    transmits: VecDeque<Transmit>,
    events: VecDeque<ClientEvent>,
}

impl ClientConnection {
    /// Begins a conversation: the first message is ready to be sent.
    #[must_use]
    pub fn new(mut config: ClientConfig, now: Instant) -> Self {
        config.limits = config.limits.bounded();
        let mut connection = Self {
            identity: Identity::new(&config.implementation, &config.capabilities),
            log_level: config.log_level,
            phase: Phase::Closed(CloseReason::Requested),
            calls: Calls::default(),
            exchanges: Exchanges::default(),
            session_since: 0,
            tokens: HashMap::new(),
            incoming: AskedRequests::new(config.limits.max_incoming, config.limits.max_incoming_bytes),
            listening: Listening::default(),
            heartbeat: Heartbeat::new(config.limits.keep_alive),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            config,
        };
        connection.open(now);
        connection
    }

    /// Sends a request, immediately or as soon as the connection is open. `id` is of the caller's choice, and never
    /// used twice.
    pub fn call(&mut self, now: Instant, id: CallId, request: OutgoingCall) {
        if self.calls.len() >= self.config.limits.max_pending && self.closed().is_none() {
            self.events.push_back(ClientEvent::Answer { call: id, outcome: Err(RequestError::TooMany), rounds: 0 });
            return;
        }
        self.call_beyond_limit(now, id, request);
    }

    /// Like [`ClientConnection::call`], also beyond [`ClientLimits::max_pending`]: for requests of the driver's own, whose
    /// number it bounds.
    pub fn call_beyond_limit(&mut self, now: Instant, id: CallId, mut request: OutgoingCall) {
        if let Phase::Closed(reason) = &self.phase {
            let outcome = Err(RequestError::Closed(reason.clone()));
            self.events.push_back(ClientEvent::Answer { call: id, outcome, rounds: 0 });
            return;
        }
        let cut = |time: Duration| time.min(ClientLimits::LONGEST);
        request.timeout = request.timeout.map(cut);
        request.total_timeout = request.total_timeout.map(cut);
        let total = request.total_timeout.unwrap_or(self.config.limits.total_timeout);
        self.calls.insert(id, Call::new(request, now, total));
        self.dispatch(now, id);
    }

    /// Sends a notification, if the connection is open. The stateless revision has none of the client, and a change of
    /// roots concerns only servers to which the client has declared that it has some.
    pub fn notify(&mut self, method: &'static str, params: Params) {
        if method == method::ROOTS_CHANGED && !self.announces_roots() {
            return;
        }
        if self.phase.server().is_some_and(|server| server.is_stateful()) {
            self.transmits.push_back(Transmit::Send(Message::notification(method, params)));
        }
    }

    fn announces_roots(&self) -> bool {
        let roots = self.config.capabilities.capability("roots").and_then(|raw| JsonObject::from_raw(raw).ok());
        roots.and_then(|roots| roots.member("listChanged")?.to().ok()).unwrap_or_default()
    }

    /// Takes a message of the server.
    pub fn receive(&mut self, now: Instant, message: Message, facts: AnswerFacts) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        if facts.no_answer.is_none() {
            self.heartbeat.heard(now);
        }
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => self.notification(now, notification),
            Message::Response(response) => self.answered(now, response, facts),
        }
    }

    /// Takes a text of the server that is not a message. An answer that cannot be read fails its request, and a request
    /// that cannot be read is refused.
    pub fn receive_malformed(&mut self, now: Instant, malformed: Malformed) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        self.heartbeat.heard(now);
        let Malformed { id, answers, error } = malformed;
        if let Some((number, purpose)) = answers.and_then(|id| self.exchanges.answered(Some(&id))) {
            return self.ended(now, number, purpose, Err(Failure::unreadable(error)));
        }
        match id {
            Some(id) if self.answers_requests() => self.send_response(id, Err(error)),
            Some(_) | None => self.events.push_back(ClientEvent::Ignored("a message that cannot be read")),
        }
    }

    /// Answers a request of the server. Without effect if the server has cancelled it.
    pub fn reply(&mut self, key: &RequestKey, outcome: Result<JsonBuf, ErrorObject>) {
        if self.incoming.close(key) {
            self.transmits.push_back(Transmit::Send(Response { id: Some(key.id.clone()), outcome }.into()));
        }
    }

    /// The least severe level of the log messages that stateless requests ask for from here on.
    pub fn set_log_level(&mut self, level: Option<Level>) {
        self.log_level = level;
    }

    /// Ends the conversation. Every call that has no answer fails.
    pub fn close(&mut self, reason: CloseReason) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        if self.config.channel == Channel::Exchanges {
            self.transmits.push_back(Transmit::EndSession);
        }
        self.phase = Phase::Closed(reason.clone());
        self.heartbeat.stop();
        self.listening = Listening::default();
        for id in self.calls.ids() {
            self.finish(id, Err(RequestError::Closed(reason.clone())));
        }
        self.events.push_back(ClientEvent::Closed(reason));
    }

    /// The next action of the transport.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// The server; `None` while the connection is opening, and once it is closed.
    #[must_use]
    pub fn server(&self) -> Option<&Arc<ServerView>> {
        self.phase.server()
    }

    /// The reason why the connection is over, if it is.
    #[must_use]
    pub fn closed(&self) -> Option<&CloseReason> {
        match &self.phase {
            Phase::Closed(reason) => Some(reason),
            Phase::Discovering(_) | Phase::Initializing(_) | Phase::Open(_) | Phase::Suspended(_) => None,
        }
    }

    /// The number of calls without an answer.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.calls.len()
    }

    fn finish(&mut self, id: CallId, outcome: Result<JsonBuf, RequestError>) {
        if let Some(call) = self.calls.remove(id) {
            if let Some(token) = call.token {
                self.tokens.remove(&token);
            }
            self.events.push_back(ClientEvent::Answer { call: id, outcome, rounds: call.rounds });
        }
    }
}
