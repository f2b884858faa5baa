//! The client's end of one conversation, as a value: the first request, ids, deadlines and errors, without I/O.
//!
//! Requests, messages and the time go in; [`BinaryClientSession::poll_transmit`] and
//! [`BinaryClientSession::poll_event`] return the consequences. **Each request gets exactly one
//! [`BinaryClientEvent::Answer`]**, unless it was cancelled.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::config::BinaryClientConfig;
use crate::client::error::{BinaryCallError, BinaryCloseReason};
use crate::client::lanes::{Added, Lane, Lanes};
use crate::code;
use crate::extensions::{NOTIFICATIONS, PROMPTS, SUBSCRIPTIONS, WKT_BUILTIN};
use crate::fault::Fault;
use crate::frame::{FrameTooLarge, Unreadable, encode_with};
use crate::message::mcp_message::Payload;
use crate::message::{
    CallLog, CallProgress, CallToolResponse, CancelCall, ClientCapabilities, InitializeRequest, InitializeResponse,
    ListChanged, McpMessage, ResourceUpdated, ServerCapabilities, call_tool_response,
};
use crate::payload::{LIST_CHANGED, RESOURCE_UPDATED, STREAMING};
use crate::reference::Numbering;
use crate::report::CallReport;
use crate::session::config::SessionLimits;
use crate::version::Version;
use protomcp_fair::Owner;
use protomcp_session::{CallerKey, Conversation};

/// The client's end of one conversation.
#[derive(Debug)]
pub struct BinaryClientSession {
    config: BinaryClientConfig,
    phase: Phase,
    calls: HashMap<u64, Call>,
    lanes: Lanes,
    deadlines: BTreeSet<(Instant, u64)>,
    last: u64,
    numbering: Numbering,
    /// Both sides have set `supports_streaming`.
    streams: bool,
    garbage: u32,
    frames: VecDeque<Vec<u8>>,
    events: VecDeque<BinaryClientEvent>,
}

#[derive(Debug)]
enum Phase {
    /// The server owes the answer to the first request. Requests wait.
    Opening {
        version: Version,
        until: Instant,
    },
    Open,
    Closed(BinaryCloseReason),
}

#[derive(Debug)]
struct Call {
    /// Until it is sent.
    request: Option<Payload>,
    /// The number of the answer in `MCPMessage`.
    answer: u32,
    deadline: Instant,
    timeout: Duration,
    /// The last progress that was reported.
    reached: Option<f64>,
}

/// The server, as it has described itself.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryServerView {
    /// The version of the conversation.
    pub version: Version,
    /// The capabilities.
    pub capabilities: ServerCapabilities,
    /// `name` and `version` of the server, and anything else.
    pub metadata: BTreeMap<String, String>,
}

/// An event of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum BinaryClientEvent {
    /// The conversation has begun.
    Opened(Arc<BinaryServerView>),
    /// A report of a tool call that runs. None follows its answer, and progress grows.
    Report(u64, CallReport),
    /// A log message of the server that belongs to no call.
    Log(CallLog),
    /// A request has ended.
    Answer(u64, Result<Payload, BinaryCallError>),
    /// A list of the server has changed.
    ListChanged(ListChanged),
    /// A resource of the server has changed.
    ResourceUpdated(ResourceUpdated),
    /// The server reports an error that belongs to no request.
    Reported(Fault),
    /// A report of a call, or another message that answers no request, cannot be read. The conversation goes on.
    Dropped(Unreadable),
    /// The conversation is over; the last event.
    Closed(BinaryCloseReason),
}

impl BinaryClientSession {
    /// Begins a conversation: the first frame is ready to be sent.
    #[must_use]
    pub fn new(config: BinaryClientConfig, now: Instant) -> Self {
        let version = config.versions.newest().clone();
        let mut session = Self {
            phase: Phase::Opening {
                version: version.clone(),
                until: now + config.open_timeout.min(SessionLimits::LONGEST),
            },
            numbering: config.numbering.unwrap_or_default(),
            lanes: Lanes::new(config.max_waiting),
            config,
            calls: HashMap::new(),
            deadlines: BTreeSet::new(),
            last: 0,
            streams: false,
            garbage: 0,
            frames: VecDeque::new(),
            events: VecDeque::new(),
        };
        session.initialize(&version);
        session
    }

    /// Sends a request, immediately or as soon as the conversation has begun. Returns its number, for its answer.
    pub fn call(&mut self, now: Instant, request: Payload, timeout: Option<Duration>) -> u64 {
        self.call_for(&own_caller(), now, request, timeout)
    }

    /// Like [`BinaryClientSession::call`], for one of several callers: where requests wait, their owners take turns.
    pub fn call_for(&mut self, caller: &CallerKey, now: Instant, request: Payload, timeout: Option<Duration>) -> u64 {
        self.last += 1;
        let id = self.last;
        let refusal = match (&self.phase, request.answer_number()) {
            (Phase::Closed(reason), _) => Some(BinaryCallError::Closed(reason.clone())),
            (_, None) => Some(BinaryCallError::InvalidAnswer("the message is not a request".into())),
            (_, Some(answer)) => match self.lanes.add(id, Lane::of(answer), caller) {
                Added::Full => Some(BinaryCallError::TooMany),
                added => {
                    let timeout = timeout.unwrap_or(self.config.timeout).min(SessionLimits::LONGEST);
                    let deadline = now + timeout;
                    self.deadlines.insert((deadline, id));
                    self.calls.insert(id, Call { request: Some(request), answer, deadline, timeout, reached: None });
                    if let Added::InPlaceOf(other) = added {
                        self.finish(other, Err(BinaryCallError::TooMany));
                    }
                    None
                }
            },
        };
        if let Some(error) = refusal {
            self.events.push_back(BinaryClientEvent::Answer(id, Err(error)));
        }
        self.send_waiting();
        id
    }

    /// Gives a request up: it gets no answer. The server is told if both sides have set `supports_streaming`, and so is a
    /// carrier that [ends requests](BinaryClientConfig::cancels).
    pub fn cancel(&mut self, id: u64) {
        self.tell_given_up(id);
        self.remove(id);
        self.send_waiting();
    }

    /// Takes a frame of the server.
    pub fn receive(&mut self, now: Instant, frame: Result<McpMessage, Unreadable>) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        match frame {
            Ok(message) => {
                self.garbage = 0;
                let Some(payload) = message.payload else { return };
                match (&self.phase, message.id) {
                    (Phase::Opening { .. }, FIRST) => self.opened(now, payload),
                    (_, id) => self.answered(id, payload),
                }
            }
            Err(notice) if self.is_notice(&notice) => self.events.push_back(BinaryClientEvent::Dropped(notice)),
            Err(unreadable) => {
                self.finish(unreadable.id, Err(BinaryCallError::InvalidAnswer(unreadable.fault().message)));
                self.garbage = if unreadable.is_garbage() { self.garbage + 1 } else { 0 };
                if self.garbage > MAX_GARBAGE {
                    self.close(BinaryCloseReason::Garbage);
                }
            }
        }
        self.send_waiting();
    }

    /// Ends the conversation. Every request without an answer fails.
    pub fn close(&mut self, reason: BinaryCloseReason) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        self.phase = Phase::Closed(reason.clone());
        let mut ids: Vec<_> = self.calls.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.finish(id, Err(BinaryCallError::Closed(reason.clone())));
        }
        self.events.push_back(BinaryClientEvent::Closed(reason));
    }

    /// The next frame for the server.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        let frame = self.frames.pop_front();
        self.send_waiting();
        frame
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<BinaryClientEvent> {
        self.events.pop_front()
    }

    /// The time at which [`BinaryClientSession::handle_timeout`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let opening = match &self.phase {
            Phase::Opening { until, .. } => Some(*until),
            Phase::Open | Phase::Closed(_) => None,
        };
        opening.into_iter().chain(self.deadlines.first().map(|(deadline, _)| *deadline)).min()
    }

    /// Fails everything whose time is over. The server is told, as with [`BinaryClientSession::cancel`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Opening { until, .. } if until <= now) {
            self.close(BinaryCloseReason::NotOpened(self.config.open_timeout));
        }
        while let Some((deadline, id)) = self.deadlines.first().copied()
            && deadline <= now
        {
            let timeout = self.calls.get(&id).map(|call| call.timeout).unwrap_or_default();
            self.tell_given_up(id);
            self.finish(id, Err(BinaryCallError::TimedOut(timeout)));
        }
        self.send_waiting();
    }

    /// True if the conversation is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Sends the requests for which there is room. Abandoned ones count as well until the server has read them.
    fn send_waiting(&mut self) {
        let max = self.config.max_in_flight;
        while matches!(self.phase, Phase::Open)
            && self.frames.len() < max.max(16)
            && let Some(id) = self.lanes.next(max)
        {
            self.transmit(id);
        }
    }

    fn initialize(&mut self, version: &Version) {
        let mut metadata = self.config.metadata.clone();
        if let Some(token) = &self.config.token {
            metadata.insert("authorization".to_owned(), format!("Bearer {token}"));
        }
        let declared =
            [NOTIFICATIONS, PROMPTS, SUBSCRIPTIONS].into_iter().chain(self.config.wkt_builtin.then_some(WKT_BUILTIN));
        let capabilities = ClientCapabilities {
            supports_bsr_refs: self.config.bsr_refs,
            supports_streaming: true,
            encodings: vec!["protobuf".to_owned()],
            experimental: declared.map(|name| (name.to_owned(), true)).collect(),
        };
        let request =
            InitializeRequest { protocol_version: version.to_string(), capabilities: Some(capabilities), metadata };
        self.last = self.last.max(FIRST);
        if let Err(error) = self.send(FIRST, Some(Payload::InitializeRequest(request))) {
            self.close(BinaryCloseReason::TooLarge(error));
        }
    }

    fn opened(&mut self, now: Instant, payload: Payload) {
        let Phase::Opening { version, .. } = &self.phase else { return };
        let response = match payload {
            Payload::InitializeResponse(response) => response,
            Payload::ErrorResponse(error) => return self.refused(now, error.into()),
            other => {
                let message = format!("the first answer is a message of kind {}", other.number());
                return self.close(BinaryCloseReason::Refused(Fault::new(code::INVALID_REQUEST, message)));
            }
        };
        let InitializeResponse { protocol_version, capabilities, metadata } = response;
        let chosen = protocol_version.parse::<Version>().ok();
        let Some(chosen) = chosen.filter(|chosen| Version::common(version, chosen).is_some()) else {
            return self.close(BinaryCloseReason::UnsupportedVersion(protocol_version));
        };
        if self.config.numbering.is_none() {
            self.numbering = Numbering::of_server(&metadata);
        }
        self.streams = capabilities.is_some_and(|capabilities| capabilities.supports_streaming);
        let view = BinaryServerView { version: chosen, capabilities: capabilities.unwrap_or_default(), metadata };
        self.events.push_back(BinaryClientEvent::Opened(Arc::new(view)));
        self.phase = Phase::Open;
    }

    /// The server has refused. If it has an older version of this client, that one is tried.
    fn refused(&mut self, now: Instant, fault: Fault) {
        let Phase::Opening { version, until } = &mut self.phase else { return };
        let supported = fault.data.get("supported").and_then(|list| list.as_array().cloned()).unwrap_or_default();
        let supported = supported.iter().filter_map(serde_json::Value::as_str);
        let fallback = self.config.versions.fallback(supported).filter(|other| other != version);
        match fallback {
            Some(other) if fault.code == code::UNSUPPORTED_VERSION && *until > now => {
                // Each try is an older version, so this ends.
                *version = other.clone();
                self.config.versions = crate::version::Versions::new([other.clone()]);
                self.initialize(&other);
            }
            _ => self.close(BinaryCloseReason::Refused(fault)),
        }
    }

    fn answered(&mut self, id: u64, payload: Payload) {
        match (payload, self.calls.get(&id)) {
            (Payload::ListChanged(changed), _) if id == 0 => {
                self.events.push_back(BinaryClientEvent::ListChanged(changed));
            }
            (Payload::ResourceUpdated(updated), _) if id == 0 => {
                self.events.push_back(BinaryClientEvent::ResourceUpdated(updated));
            }
            (Payload::ErrorResponse(error), None) if id == 0 => {
                self.events.push_back(BinaryClientEvent::Reported(error.into()));
            }
            (Payload::CallProgress(report), _) if self.streams => self.reported(id, CallReport::Progress(report)),
            (Payload::CallLog(log), None) if self.streams && id == 0 => {
                self.events.push_back(BinaryClientEvent::Log(log));
            }
            (Payload::CallLog(report), _) if self.streams => self.reported(id, CallReport::Log(report)),
            // The answer to a request that was given up, or to none.
            (_, None) => {}
            (Payload::ErrorResponse(error), Some(_)) => self.finish(id, Err(BinaryCallError::Refused(error.into()))),
            (payload, Some(call)) if payload.number() != call.answer => {
                let message = format!("a message of kind {} instead of {}", payload.number(), call.answer);
                self.finish(id, Err(BinaryCallError::InvalidAnswer(message)));
            }
            (Payload::CallToolResponse(CallToolResponse { result, metadata }), Some(_)) => {
                let outcome = match result {
                    Some(call_tool_response::Result::Error(error)) => Err(BinaryCallError::Refused(error.into())),
                    result => Ok(Payload::CallToolResponse(CallToolResponse { result, metadata })),
                };
                self.finish(id, outcome);
            }
            (payload, Some(_)) => self.finish(id, Ok(payload)),
        }
    }

    /// True if a message that cannot be read is not the answer to a request: the request waits on.
    fn is_notice(&self, unreadable: &Unreadable) -> bool {
        let is_notice = |number| match number {
            LIST_CHANGED | RESOURCE_UPDATED => true,
            number => self.streams && STREAMING.contains(&number),
        };
        unreadable.payload.is_some_and(is_notice)
    }

    /// Takes a report. It has no effect without such a call, or if progress does not grow.
    fn reported(&mut self, id: u64, report: CallReport) {
        let Some(call) = self.calls.get_mut(&id).filter(|call| Lane::of(call.answer) == Lane::Calls) else { return };
        if let CallReport::Progress(CallProgress { progress, .. }) = &report {
            let grows = progress.is_finite() && call.reached.is_none_or(|reached| *progress > reached);
            if !grows {
                return;
            }
            call.reached = Some(*progress);
        }
        self.events.push_back(BinaryClientEvent::Report(id, report));
    }

    fn transmit(&mut self, id: u64) {
        let Some(request) = self.calls.get_mut(&id).and_then(|call| call.request.take()) else { return };
        if let Err(error) = self.send(id, Some(request)) {
            self.finish(id, Err(BinaryCallError::TooLarge(error)));
        }
    }

    /// Tells the server that the answer to a request is not awaited, if it was sent and there is a message for it.
    fn tell_given_up(&mut self, id: u64) {
        let is_sent = self.calls.get(&id).is_some_and(|call| call.request.is_none());
        if is_sent && (self.streams || self.config.cancels) {
            let cancel = (!self.config.cancels).then_some(Payload::CancelCall(CancelCall {}));
            // It has a few bytes.
            let _ = self.send(id, cancel);
        }
    }

    fn send(&mut self, id: u64, payload: Option<Payload>) -> Result<(), FrameTooLarge> {
        let mut frame = Vec::new();
        let message = McpMessage { id, payload };
        encode_with(&message, self.numbering, &self.config.frames, &mut frame)?;
        self.frames.push_back(frame);
        Ok(())
    }

    fn finish(&mut self, id: u64, outcome: Result<Payload, BinaryCallError>) {
        if self.remove(id) {
            self.events.push_back(BinaryClientEvent::Answer(id, outcome));
        }
    }

    fn remove(&mut self, id: u64) -> bool {
        let Some(call) = self.calls.remove(&id) else { return false };
        self.lanes.remove(id, Lane::of(call.answer));
        self.deadlines.remove(&(call.deadline, id))
    }
}

/// The caller of a program that names none.
pub(super) fn own_caller() -> CallerKey {
    CallerKey { owner: Owner::Local, conversation: Conversation::Connection(0) }
}

/// The id of the first request.
const FIRST: u64 = 1;

/// Frames in a row that are not messages; one more ends the conversation.
const MAX_GARBAGE: u32 = 2;
