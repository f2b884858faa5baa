//! The server's end of a session, as a value: revisions, lifecycle, correlation and cancellation, without I/O.
//!
//! Messages go in through [`Session::receive`], which returns their effect as an [`Inbound`]. Answers go in through
//! [`Session::reply`], which returns them as messages, encoded for the revision of their request. The driver around the
//! value (`serve/drive.rs` of `protomcp-server`) owns the transport, the tasks and the clock.
//!
//! Two eras of MCP share a connection. Requests of the stateful revisions belong to the session that a handshake has
//! opened (`server/lifecycle.rs`); each request of the stateless revision describes itself completely
//! (`server/stateless.rs`). The era is decided for each request, so both kinds may come in any order.

pub(crate) mod encode;
mod handshake;
mod lifecycle;
mod listener;
mod listeners;
mod stateless;
mod stateless_info;
mod stateless_revision;

use std::sync::Arc;

use protomcp_types::{
    ErrorObject, JsonBuf, Level, Message, Notification, Params, ProgressToken, RawJson, Request, RequestMeta, Response,
    ServerCapabilities, Subscribe, SubscriptionFilter,
};

use crate::client_info::ClientInfo;
use crate::info::{Limits, ServerInfo};
use crate::outgoing::{CallId, Outgoing};
use crate::pending::{Attempt, Closed, Era, OnSuccess, Pending, RequestKey};
use crate::request::{ServerRequest, ServerResult};
use crate::server::encode::Shape;
use crate::server::handshake::Lifecycle;
use crate::server::listener::Listeners;
use crate::session_state::{RestoredSession, SessionState};
use crate::subscriptions::Subscriptions;
use crate::topic::Topic;
use protomcp_fair::Reservation;

pub use crate::server::stateless_info::{RetryInput, StatelessInfo};
pub use crate::server::stateless_revision::{Stateless, StatelessCall, StatelessRequest};

/// One conversation with a client.
#[derive(Debug)]
pub struct Session {
    info: Arc<ServerInfo>,
    stateless: Arc<Stateless>,
    /// The capabilities of the server in the negotiated revision.
    offered: ServerCapabilities,
    lifecycle: Lifecycle,
    pending: Pending,
    outgoing: Outgoing,
    subscriptions: Arc<Subscriptions>,
    /// Changes whose notifications are due.
    missed: Vec<(Topic, Arc<str>)>,
    listeners: Listeners,
    level: Level,
    /// True if the state for another process has changed since it was last asked for.
    has_changed: bool,
}

/// The effect of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Inbound {
    /// The client has sent `initialize`: notify the observers, then send this reply.
    Opened(Arc<ClientInfo>, Message),
    /// The handshake is complete: from here on the client may be notified of changes.
    Ready,
    /// A request for the service; pass its outcome to [`Session::reply`].
    Call(IncomingCall),
    /// This request listens for changes: find out which of them the client may be notified of, then call
    /// [`Session::begin_listening`]. [`Session::reply`] ends the request early.
    Listen(RequestKey, Arc<ClientInfo>, Box<SubscriptionFilter>),
    /// A request of the stateless revision for the service, or about a task. Answer it without the session, which only
    /// knows its id: call [`Session::close`] before the answer is sent.
    Stateless(RequestKey, Box<StatelessRequest>),
    /// The client has cancelled this request; [`Session::reply`] no longer answers it.
    Cancel(RequestKey),
    /// The client has answered a request of the server.
    Answer {
        /// The request.
        call: CallId,
        /// The result, or the error.
        outcome: Result<JsonBuf, ErrorObject>,
    },
    /// Any other notification of the client.
    Notification(Notification),
    /// Send this.
    Reply(Message),
    /// The message has no effect. The text is the reason, for the log.
    Ignored(&'static str),
}

/// A request for the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingCall {
    /// Needed for the reply.
    pub key: RequestKey,
    /// The request itself.
    pub request: ServerRequest,
    /// The token for progress notifications; `None`: the client has requested none.
    pub progress_token: Option<ProgressToken>,
    /// The client of the session.
    pub client: Arc<ClientInfo>,
}

impl Session {
    /// A server's end. At most `max_pending` requests wait for their reply concurrently.
    #[must_use]
    pub fn server(info: Arc<ServerInfo>, max_pending: usize) -> Self {
        Self {
            offered: info.capabilities.clone(),
            stateless: Arc::new(Stateless::new(Arc::clone(&info))),
            info,
            lifecycle: Lifecycle::Fresh,
            pending: Pending::new(max_pending),
            outgoing: Outgoing::default(),
            subscriptions: Arc::new(Subscriptions::new(Self::MAX_SUBSCRIPTIONS)),
            missed: Vec::new(),
            listeners: Listeners::default(),
            level: Self::INITIAL_LEVEL,
            has_changed: false,
        }
    }

    /// Reads requests without a session with this, which also describes the server to them.
    #[must_use]
    pub fn with_stateless(mut self, stateless: Arc<Stateless>) -> Self {
        self.stateless = stateless;
        self
    }

    /// The stateless revision of the server, as requests of this connection see it.
    #[must_use]
    pub fn stateless(&self) -> &Arc<Stateless> {
        &self.stateless
    }

    /// Continues a session of another process, with a complete handshake. Its subscriptions are not included: the
    /// service has to know of them.
    #[must_use]
    pub fn restored(mut self, session: &RestoredSession) -> Self {
        let RestoredSession { state: SessionState { client, level, .. }, holder } = session;
        self.offer(client.version);
        self.lifecycle = Lifecycle::Ready(Arc::clone(client));
        self.level = *level;
        self.outgoing = Outgoing::of_holder(*holder);
        self
    }

    /// The state for another process; `None`: there was no handshake. `selection`: the tools that the session sees.
    #[must_use]
    pub fn state(&self, selection: Option<RawJson>) -> Option<SessionState> {
        let client = Arc::clone(self.client()?);
        Some(SessionState { client, level: self.level, subscriptions: self.subscriptions.uris(), selection })
    }

    /// True if [`Session::state`] has changed since the last call, except for the selection.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Takes the bytes of subscriptions out of a budget.
    pub fn within(mut self, reservation: Reservation) -> Self {
        self.subscriptions = Arc::new(Subscriptions::within(Self::MAX_SUBSCRIPTIONS, reservation));
        self
    }

    /// The lowest level of log messages that are sent until the client sets another.
    pub const INITIAL_LEVEL: Level = Level::Info;

    /// The number of resources that a client may subscribe to or listen for; a URI may be
    /// [`MAX_SUBSCRIBED_URI`](protomcp_types::MAX_SUBSCRIBED_URI) bytes long.
    pub const MAX_SUBSCRIPTIONS: usize = 1024;

    /// Handles a message of the client.
    pub fn receive(&mut self, message: Message) -> Inbound {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) => self.notification(notification),
            Message::Response(Response { id, outcome }) => match id.and_then(|id| self.outgoing.answered(&id)) {
                Some(call) => Inbound::Answer { call, outcome },
                None => Inbound::Ignored("an answer to nothing we asked"),
            },
        }
    }

    fn request(&mut self, request: Request) -> Inbound {
        if self.pending.has(&request.id) {
            // The answers of the two could not be distinguished.
            let why = format!("invalid request: id {} is already in use", request.id);
            return Inbound::Reply(Message::error(Some(request.id), ErrorObject::invalid_request(why)));
        }
        let meta = RequestMeta::of(&request.params);
        if Stateless::has(&request.method, &meta) {
            self.stateless_request(request, &meta.into())
        } else {
            self.stateful(request, meta.progress_token())
        }
    }

    /// Encodes the answer to a request. `None`: the client has cancelled it, or it was answered before.
    pub fn reply(&mut self, key: &RequestKey, outcome: Result<ServerResult, ErrorObject>) -> Option<Message> {
        let Closed { then, era } = self.pending.close(key)?;
        if era != Era::Stateful {
            self.stop_listening(key.number);
        }
        if let (OnSuccess::Subscribe(_), Err(_)) = (&then, &outcome) {
            self.subscriptions.expect_nothing(key.number);
        }
        let outcome = outcome.and_then(|result| self.succeed(key.number, then, result));
        let outcome = match era {
            Era::Stateful => outcome.map(|result| encode::result(result, Shape::Stateful)),
            Era::Stateless => self.stateless.outcome(outcome, Attempt::First),
        };
        Some(Response { id: Some(key.id.clone()), outcome }.into())
    }

    /// A request without a session ([`Inbound::Stateless`]) is about to be answered. `false`: the client has cancelled
    /// it, and gets no answer.
    pub fn close(&mut self, key: &RequestKey) -> bool {
        self.pending.close(key).is_some()
    }

    /// Applies the effect of the success of a request.
    fn succeed(&mut self, number: u64, then: OnSuccess, result: ServerResult) -> Result<ServerResult, ErrorObject> {
        match then {
            OnSuccess::Nothing => return Ok(result),
            OnSuccess::Subscribe(uri) => {
                let missed = self.subscriptions.subscribe(number, &uri).ok_or_else(|| self.subscriptions.full())?;
                self.missed.extend(missed);
            }
            OnSuccess::Unsubscribe(uri) => self.subscriptions.unsubscribe(&uri),
        }
        self.has_changed = true;
        Ok(ServerResult::Empty)
    }

    /// The changes that the service has reported before the answer to the subscription was encoded, or before the
    /// acknowledgement. Their notifications follow it.
    pub fn take_missed(&mut self) -> Vec<(Topic, Arc<str>)> {
        std::mem::take(&mut self.missed)
    }

    /// True if a request still waits for its reply.
    #[must_use]
    pub fn is_pending(&self, key: &RequestKey) -> bool {
        self.pending.contains(key)
    }

    /// The number of requests that wait for their reply.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// All requests that wait for their reply.
    pub fn open_requests(&self) -> impl Iterator<Item = RequestKey> + '_ {
        self.pending.iter()
    }

    /// The number that the next request will have.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.pending.next_number()
    }

    /// Makes a request to the client. Its answer comes as [`Inbound::Answer`] with the same id.
    pub fn call(&mut self, method: &'static str, params: Params) -> (CallId, Message) {
        let (call, id) = self.outgoing.ask();
        (call, Message::request(id, method, params))
    }

    /// Cancels a request to the client. Returns the notification for it.
    pub fn abandon(&mut self, call: CallId) -> Option<Message> {
        self.outgoing.abandon(call)
    }

    /// The client; `None` before the handshake.
    #[must_use]
    pub fn client(&self) -> Option<&Arc<ClientInfo>> {
        match &self.lifecycle {
            Lifecycle::Fresh => None,
            Lifecycle::Introduced(client) | Lifecycle::Ready(client) => Some(client),
        }
    }

    /// True if the handshake is complete. Until then the client is not notified of changes (MCP 2025-11-25,
    /// basic/lifecycle).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Ready(_))
    }

    /// The lowest level of log messages that the client has requested.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The subscriptions of the session, shared with the parts of the program that report changes.
    pub fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    /// True if the revision of the session has batches.
    #[must_use]
    pub fn allows_batches(&self) -> bool {
        self.client().is_some_and(|client| client.version.allows_batches())
    }

    fn on_success(&self, request: &ServerRequest) -> Result<OnSuccess, ErrorObject> {
        match request {
            ServerRequest::Subscribe(Subscribe { uri, .. }) => {
                self.subscriptions.check(uri)?;
                Ok(OnSuccess::Subscribe(uri.clone()))
            }
            ServerRequest::Unsubscribe(request) => Ok(OnSuccess::Unsubscribe(request.uri.clone())),
            ServerRequest::ListTools(_)
            | ServerRequest::CallTool(_)
            | ServerRequest::ListResources(_)
            | ServerRequest::ListResourceTemplates(_)
            | ServerRequest::ReadResource(_)
            | ServerRequest::ListPrompts(_)
            | ServerRequest::GetPrompt(_)
            | ServerRequest::Complete(_)
            | ServerRequest::GetTask(_)
            | ServerRequest::GetTaskPayload(_)
            | ServerRequest::ListTasks(_)
            | ServerRequest::CancelTask(_)
            | ServerRequest::Other { .. } => Ok(OnSuccess::Nothing),
        }
    }

    /// The error for a request that finds no room.
    #[must_use]
    pub fn overloaded() -> ErrorObject {
        ErrorObject::overloaded("too many requests in flight", "send it again in a moment", Limits::RETRY_AFTER)
    }
}
