//! The server's end of one conversation, as a value: versions, capabilities, authentication, ids, deadlines and errors,
//! without I/O.
//!
//! Messages and the time go in; [`BinarySession::poll_transmit`] returns frames. The caller answers the requests that
//! [`BinarySession::receive`] returns, in any order. **Each request gets exactly one answer.**
//!
//! ```text
//!   New ──initialize──▶ Open ──end of input──▶ Draining ──last answer, or its time──▶ Closed
//!    │                   │                                                              ▲
//!    └───────────────────┴────────── a frame that is too large, or garbage ─────────────┘
//! ```

pub(crate) mod admission;
mod agreement;
pub(crate) mod config;
mod handshake;
mod in_flight;
pub(crate) mod inbound;
mod outbound;
pub(crate) mod permission;
pub(crate) mod reports;
pub(crate) mod request_kind;
mod streaming;
pub(crate) mod token_verifier;
mod verification;

use std::sync::Arc;
use std::time::Instant;

use protomcp_server::Limits;

use crate::code;
use crate::fault::Fault;
use crate::frame::{FrameTooLarge, Unreadable, encode, unknown_payload};
use crate::message::mcp_message::Payload;
use crate::message::{ListChanged, McpMessage, ResourceUpdated};
use crate::session::in_flight::{Entry, InFlight};
use crate::session::token_verifier::Grant;
use crate::session::verification::unverified;

/// Messages that the client has not read. At this many the session takes no further ones.
const MAX_UNREAD: usize = 64;

use crate::session::admission::admit;
use crate::session::outbound::Outbound;
use crate::session::request_kind::RequestKind;

pub use crate::session::agreement::{Agreement, Declared};
pub use crate::session::config::{Changes, Features, Initialization, SessionConfig, SessionLimits, Streaming};
pub use crate::session::inbound::{BinaryCall, BinaryInbound, BinaryRequest};

/// The server's end of one conversation.
#[derive(Debug)]
pub struct BinarySession {
    config: Arc<SessionConfig>,
    state: State,
    agreement: Option<Arc<Agreement>>,
    /// The principal of the connection: from the transport, or of the first token.
    principal: Option<Arc<str>>,
    /// The rights of the conversation, if a verified token has given them.
    grant: Option<Grant>,
    /// The message whose token is being verified.
    waiting: Option<McpMessage>,
    in_flight: InFlight,
    outbound: Outbound,
    garbage: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The client sends nothing more. Calls have until then.
    Draining(Instant),
    Closed,
}

impl BinarySession {
    /// A conversation with a client that has not sent anything. `principal` is who the transport says it is.
    #[must_use]
    pub fn new(config: Arc<SessionConfig>, principal: Option<Arc<str>>) -> Self {
        Self {
            config,
            state: State::Open,
            agreement: None,
            principal,
            grant: None,
            waiting: None,
            in_flight: InFlight::default(),
            outbound: Outbound::default(),
            garbage: 0,
        }
    }

    /// Takes a frame of the client. Frames that need no action are answered here.
    pub fn receive(&mut self, now: Instant, frame: Result<McpMessage, Unreadable>) -> Option<BinaryInbound> {
        if self.state != State::Open || self.waiting.is_some() {
            return None;
        }
        let mut message = match frame {
            Ok(message) => message,
            Err(unreadable) => {
                self.unreadable(&unreadable);
                return None;
            }
        };
        self.garbage = 0;
        if let Some(authorization) = unverified(&self.config, &mut message) {
            self.waiting = Some(message);
            return Some(BinaryInbound::Verify(authorization));
        }
        self.proceed(now, message, None)
    }

    /// Takes a message with the rights of its token, if it has a verified one.
    fn proceed(&mut self, now: Instant, message: McpMessage, grant: Option<&Grant>) -> Option<BinaryInbound> {
        let id = message.id;
        let call = match message.payload {
            Some(Payload::InitializeRequest(request)) => {
                let outcome = self.initialize(request);
                return self.initialized(id, outcome);
            }
            Some(Payload::CancelCall(_)) if self.streams() => return self.cancel(id),
            Some(payload) => self.call_of(payload),
            None => Err(Fault::new(code::INVALID_REQUEST, "the message is empty")),
        };
        match call {
            Ok(call) => self.request(now, id, call, grant),
            Err(fault) => {
                self.refuse(id, &fault);
                None
            }
        }
    }

    /// The request in a payload. For a client without an extension its messages do not exist.
    fn call_of(&self, payload: Payload) -> Result<BinaryCall, Fault> {
        let Declared { prompts, subscriptions, .. } = self.declared();
        let is_unknown = (payload.is_of_prompts() && !prompts)
            || (payload.is_of_subscriptions() && !subscriptions)
            || (payload.is_of_streaming() && !self.streams());
        if is_unknown {
            return Err(unknown_payload(payload.number()));
        }
        BinaryCall::of(payload).ok_or_else(|| Fault::new(code::INVALID_REQUEST, "a response is not a request"))
    }

    fn request(&mut self, now: Instant, id: u64, mut call: BinaryCall, grant: Option<&Grant>) -> Option<BinaryInbound> {
        if self.in_flight.contains(id) {
            let message = format!("request {id} has not been answered yet");
            self.refuse(id, &Fault::new(code::INVALID_REQUEST, message).with("reason", "duplicate_id"));
            return None;
        }
        if self.agreement.is_none() && self.config.initialization == Initialization::Required {
            self.refuse(id, &Fault::new(code::NOT_INITIALIZED, "the first request must be initialize"));
            return None;
        }
        let kind = RequestKind::of(&call);
        if id == 0 && kind == RequestKind::CallTool && self.streams() {
            self.fail(id, kind, &Fault::new(code::INVALID_REQUEST, "a call needs an id from 1 on: 0 is of no call"));
            return None;
        }
        if self.in_flight.len() >= kind.max_in_flight(&self.config.limits) {
            let wait = u64::try_from(Limits::RETRY_AFTER.as_millis()).unwrap_or(u64::MAX);
            let fault = Fault::new(code::OVERLOADED, "too many requests are in flight").with("retry_after_ms", wait);
            self.fail(id, kind, &fault);
            return None;
        }
        // A client that cannot resolve references gets schemas (decided for supports_bsr_refs = false).
        let resolves = self.agreement.as_ref().is_none_or(|agreed| agreed.client_resolves_refs);
        let admitted =
            self.permit(now, grant, &call).and_then(|()| admit(&self.config, &mut self.principal, resolves, &mut call));
        let timeout = match admitted {
            Ok(timeout) => timeout,
            Err(fault) => {
                self.fail(id, kind, &fault);
                return None;
            }
        };
        let known = grant.or(self.grant.as_ref()).map(|grant| grant.known.clone());
        let deadline = now + timeout.min(SessionLimits::LONGEST);
        self.in_flight.insert(id, Entry { kind, started: now, deadline, timeout, known, reached: None });
        Some(BinaryInbound::Request(BinaryRequest { id, call }))
    }

    /// Answers a request. Without effect if it was answered already, by its deadline for example.
    pub fn reply(&mut self, now: Instant, id: u64, outcome: Result<Payload, Fault>) {
        let Some(entry) = self.in_flight.remove(id) else { return };
        self.outbound.flush_reports(id);
        match outcome {
            Ok(mut payload) => {
                payload.note_time(now.saturating_duration_since(entry.started));
                if let Err(error) = self.send(&McpMessage { id, payload: Some(payload) }) {
                    let fault = Fault::too_large(error);
                    self.fail(id, entry.kind, &fault);
                }
            }
            Err(fault) => self.fail(id, entry.kind, &fault),
        }
        self.settle();
    }

    /// Tells the client that a list has changed, if it wants to know. True if a frame was made.
    pub fn list_changed(&mut self, mut changed: ListChanged) -> bool {
        let declared = self.declared();
        changed.prompts &= declared.prompts;
        let wants = declared.notifications && changed != ListChanged::default();
        let is_open = self.state == State::Open;
        wants && is_open && self.send(&McpMessage { id: 0, payload: Some(Payload::ListChanged(changed)) }).is_ok()
    }

    /// Tells the client that a resource has changed, if it has declared `subscriptions`. The caller knows which ones it
    /// watches. True if a frame was made.
    pub fn resource_updated(&mut self, uri: &str) -> bool {
        if !self.declared().subscriptions || self.state != State::Open {
            return false;
        }
        let updated = Payload::ResourceUpdated(ResourceUpdated { uri: uri.to_owned() });
        self.send(&McpMessage { id: 0, payload: Some(updated) }).is_ok()
    }

    /// The client has sent a frame that is too large to be read: it gets an error, and the conversation is over.
    pub fn too_large(&mut self, error: FrameTooLarge) {
        if self.state != State::Open {
            return;
        }
        let fault = Fault::new(code::TOO_LARGE, error.to_string()).with("limit", error.limit);
        self.refuse(0, &fault);
        self.state = State::Closed;
    }

    /// There is no room for the frame that arrives: the client gets an error, and the conversation is over.
    pub fn overloaded(&mut self) {
        if self.state == State::Open {
            self.refuse(0, &Fault::new(code::OVERLOADED, "there is no room for this message"));
            self.state = State::Closed;
        }
    }

    /// The client sends nothing more. Requests in flight have [`SessionLimits::drain_timeout`].
    pub fn close_input(&mut self, now: Instant) {
        if self.state == State::Open {
            self.state = State::Draining(now + self.config.limits.drain_timeout.min(SessionLimits::LONGEST));
            self.settle();
        }
    }

    /// The next frame for the client.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.outbound.pop()
    }

    /// The bytes of the frames that [`BinarySession::poll_transmit`] has not returned yet.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.outbound.bytes()
    }

    /// The time at which [`BinarySession::handle_timeout`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let drain = match self.state {
            State::Draining(until) => Some(until),
            State::Open | State::Closed => None,
        };
        drain.into_iter().chain(self.in_flight.next_deadline()).min()
    }

    /// Answers the requests whose time is over, and returns their ids: their answers have no effect from
    /// here on.
    pub fn handle_timeout(&mut self, now: Instant) -> Vec<u64> {
        let drained = matches!(self.state, State::Draining(until) if until <= now);
        if drained {
            self.give_up_waiting(&shutdown());
        }
        let late = if drained { self.in_flight.ids() } else { self.in_flight.late(now) };
        for id in &late {
            let Some(entry) = self.in_flight.remove(*id) else { continue };
            self.outbound.flush_reports(*id);
            let fault = if entry.deadline > now { shutdown() } else { entry.kind.late(entry.timeout) };
            self.fail(*id, entry.kind, &fault);
        }
        self.settle();
        late
    }

    /// True while the session takes further frames: not at its limit of requests, nor of messages that the client has
    /// not read, nor while a token is verified.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let max = RequestKind::Other.max_in_flight(&self.config.limits);
        let is_free = self.in_flight.len() < max && self.outbound.messages() < MAX_UNREAD;
        self.state == State::Open && self.waiting.is_none() && is_free
    }

    /// True if a notice of the server has room. Until then it waits where notices are bounded.
    pub(crate) fn has_room_for_notices(&self) -> bool {
        self.outbound.messages() < MAX_UNREAD
    }

    /// True if the conversation is over. Frames may be left.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The version and capabilities of the conversation, once the client has initialized it.
    #[must_use]
    pub fn agreement(&self) -> Option<&Arc<Agreement>> {
        self.agreement.as_ref()
    }

    /// The principal of the connection, if it is known.
    #[must_use]
    pub fn principal(&self) -> Option<&Arc<str>> {
        self.principal.as_ref()
    }

    /// The extensions that the client has declared.
    fn declared(&self) -> Declared {
        self.agreement.as_ref().map(|agreed| agreed.declared).unwrap_or_default()
    }

    fn unreadable(&mut self, unreadable: &Unreadable) {
        self.refuse(unreadable.id, &unreadable.fault());
        if unreadable.is_garbage() {
            self.garbage += 1;
            if self.garbage > self.config.limits.max_garbage {
                self.state = State::Closed;
            }
        } else {
            self.garbage = 0;
        }
    }

    /// Closes the conversation with the last answer.
    fn settle(&mut self) {
        if matches!(self.state, State::Draining(_)) && self.in_flight.len() == 0 && self.waiting.is_none() {
            self.state = State::Closed;
        }
    }

    /// Answers with an error that is not the failure of a call.
    fn refuse(&mut self, id: u64, fault: &Fault) {
        self.fail(id, RequestKind::Other, fault);
    }

    fn fail(&mut self, id: u64, kind: RequestKind, fault: &Fault) {
        if self.send(&McpMessage { id, payload: Some(kind.failure(fault)) }).is_err() {
            // Only the texts of the fault can be that large.
            let short = Fault::new(fault.code, "the error is too large to be sent");
            let sent = self.send(&McpMessage { id, payload: Some(kind.failure(&short)) });
            debug_assert!(sent.is_ok(), "a short error fits every limit");
        }
    }

    fn send(&mut self, message: &McpMessage) -> Result<(), FrameTooLarge> {
        let mut frame = Vec::new();
        encode(message, &self.config.frames, &mut frame)?;
        self.outbound.push(frame);
        Ok(())
    }
}

fn shutdown() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the server shuts down").with("reason", "shutdown")
}
