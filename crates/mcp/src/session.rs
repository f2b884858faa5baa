//! One conversation with a host, as a value: versions, lifecycle, correlation and cancellation, without I/O.
//!
//! Messages go in through [`Session::receive`]; what is to be done comes out as [`Inbound`]. Answers go in through
//! [`Session::reply`] and come out as messages, shaped as the negotiated revision wants them. The driver around it
//! (`server`) owns the transport, the tasks and the clock.
//!
//! ```text
//!            initialize (bad) ─ error
//!                 ┌──┐
//!                 ▼  │  initialize (good)               notifications/initialized
//!               Fresh ───────────────────▶ Introduced ──────────────────────────▶ Ready
//!   ping answered, rest refused        requests served                requests served, may be told of changes
//! ```

mod client;
mod encode;
mod outgoing;
mod pending;

pub(crate) mod announce;
pub(crate) mod batch;
pub(crate) mod numbers;
pub(crate) mod subscriptions;

use std::sync::Arc;

use protomcp_types::{
    Body, ErrorObject, Initialize, Level, MAX_SUBSCRIBED_URI, Message, Method, Notification, Params, Ping,
    ProgressToken, ProtocolVersion, Request, RequestId, Response, ServerCapabilities, SetLevel, meta, method,
};

use crate::info::ServerInfo;
use crate::request::{ServerRequest, ServerResult};
use crate::session::outgoing::Outgoing;
use crate::session::pending::{OnSuccess, Pending};
use crate::session::subscriptions::Subscriptions;

pub use crate::session::client::{Client, SessionId, SessionView};
pub use crate::session::outgoing::CallId;
pub use crate::session::pending::Ticket;

/// One conversation with a host.
#[derive(Debug)]
pub struct Session {
    info: Arc<ServerInfo>,
    /// What the server can do in the negotiated revision.
    offered: ServerCapabilities,
    lifecycle: Lifecycle,
    pending: Pending,
    outgoing: Outgoing,
    subscriptions: Arc<Subscriptions>,
    level: Level,
}

/// How far the handshake is. The stateless revision will be a state of its own beside these.
#[derive(Debug)]
enum Lifecycle {
    Fresh,
    Introduced(Arc<Client>),
    Ready(Arc<Client>),
}

/// What is to be done about a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Inbound {
    /// The host has introduced itself; send the message after telling whoever wants to know.
    Opened(Arc<Client>, Message),
    /// The handshake is complete: from here on the host may be told of changes.
    Ready,
    /// Answer this, then hand the answer to [`Session::reply`].
    Call(IncomingCall),
    /// The host does not want this answer any more; [`Session::reply`] knows.
    Cancel(Ticket),
    /// A request of ours was answered.
    Answer {
        /// Which one.
        call: CallId,
        /// With what.
        outcome: Result<Body, ErrorObject>,
    },
    /// Any other notification.
    Told(Notification),
    /// Send this.
    Reply(Message),
    /// Nothing is to be done. The text says why, for the log.
    Ignored(&'static str),
}

/// A request for the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingCall {
    /// Needed for the reply.
    pub ticket: Ticket,
    /// What is asked.
    pub request: ServerRequest,
    /// Under which token the host wants progress.
    pub progress_token: Option<ProgressToken>,
}

impl Session {
    /// A server's end. At most `max_pending` requests wait for their reply at once.
    #[must_use]
    pub fn server(info: Arc<ServerInfo>, max_pending: usize) -> Self {
        Self {
            offered: info.capabilities.clone(),
            info,
            lifecycle: Lifecycle::Fresh,
            pending: Pending::new(max_pending),
            outgoing: Outgoing::default(),
            subscriptions: Arc::new(Subscriptions::new(Self::MAX_SUBSCRIPTIONS)),
            level: Self::INITIAL_LEVEL,
        }
    }

    /// From which level on log messages are sent until the host says otherwise.
    pub const INITIAL_LEVEL: Level = Level::Info;

    /// How many resources a host may subscribe to; a URI may be [`MAX_SUBSCRIBED_URI`] bytes long.
    pub const MAX_SUBSCRIPTIONS: usize = 1024;

    /// Takes a message of the host.
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

    /// Answers a request. `None`: the host has cancelled it, or it was answered before.
    pub fn reply(&mut self, ticket: &Ticket, outcome: Result<ServerResult, ErrorObject>) -> Option<Message> {
        let then = self.pending.close(ticket)?;
        let version = self.client().map_or(ProtocolVersion::NEWEST_STATEFUL, |client| client.version);
        let outcome = outcome.and_then(|result| self.succeed(then, result));
        let outcome = outcome.map(|result| encode::result(result, version));
        Some(Response { id: Some(ticket.id.clone()), outcome }.into())
    }

    /// Does what belongs to the success of a request.
    fn succeed(&self, then: OnSuccess, result: ServerResult) -> Result<ServerResult, ErrorObject> {
        match then {
            OnSuccess::Nothing => return Ok(result),
            OnSuccess::Subscribe(uri) if !self.subscriptions.subscribe(&uri) => return Err(too_many_subscriptions()),
            OnSuccess::Subscribe(_) => {}
            OnSuccess::Unsubscribe(uri) => self.subscriptions.unsubscribe(&uri),
        }
        Ok(ServerResult::Empty)
    }

    /// Whether a request still waits for its reply.
    #[must_use]
    pub fn is_pending(&self, ticket: &Ticket) -> bool {
        self.pending.contains(ticket)
    }

    /// How many requests wait for their reply.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// All requests that wait for their reply.
    pub fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.pending.iter()
    }

    /// The number that the next ticket will have.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.pending.next_number()
    }

    /// Asks the host something. Its answer comes as [`Inbound::Answer`] with the same id.
    pub fn call(&mut self, method: &'static str, params: Params) -> (CallId, Message) {
        let (call, id) = self.outgoing.ask();
        (call, Message::request(id, method, params))
    }

    /// Does not wait for an answer any more. Returns the message that tells the host so.
    pub fn abandon(&mut self, call: CallId) -> Option<Message> {
        self.outgoing.abandon(call)
    }

    /// Who is at the other end; `None` before the handshake.
    #[must_use]
    pub fn client(&self) -> Option<&Arc<Client>> {
        match &self.lifecycle {
            Lifecycle::Fresh => None,
            Lifecycle::Introduced(client) | Lifecycle::Ready(client) => Some(client),
        }
    }

    /// Whether the handshake is complete. Before, the host is not told of changes (MCP 2025-11-25, basic/lifecycle).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Ready(_))
    }

    /// From which level on the host wants log messages.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether the host wants to know when this resource changes.
    #[must_use]
    pub fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.contains(uri)
    }

    pub(crate) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    /// Whether several messages may come in one array.
    #[must_use]
    pub fn allows_batches(&self) -> bool {
        self.client().is_some_and(|client| client.version.allows_batches())
    }

    fn request(&mut self, Request { id, method, params }: Request) -> Inbound {
        if self.pending.has(&id) {
            // An answer could not be told from the other one.
            let why = format!("invalid request: id {id} is already in use");
            return Inbound::Reply(Message::error(Some(id), ErrorObject::invalid_request(why)));
        }
        let answer = match method.as_ref() {
            // MCP 2025-11-25, basic/utilities/ping: at any time, with an empty result.
            Ping::NAME => Ok(Body::empty_object()),
            Initialize::NAME => match self.initialize(&params) {
                Ok((client, result)) => return Inbound::Opened(client, Message::result(id, result)),
                Err(error) => Err(error),
            },
            _ if self.client().is_none() => {
                Err(ErrorObject::invalid_request(format!("method {method:?} is invalid during session initialization")))
            }
            SetLevel::NAME if self.offered.logging.is_some() => self.set_level(&params),
            SetLevel::NAME => Err(ErrorObject::method_not_found(&method)),
            method if !ServerRequest::is_offered(method, &self.offered) => Err(ErrorObject::method_not_found(method)),
            _ => match ServerRequest::read(method, params) {
                Ok(request) => return self.call_service(id, request),
                Err(error) => Err(error),
            },
        };
        Inbound::Reply(Response { id: Some(id), outcome: answer }.into())
    }

    fn call_service(&mut self, id: RequestId, mut request: ServerRequest) -> Inbound {
        if let ServerRequest::CallTool(call) = &mut request {
            // Where no call can be a task, wishing for one means nothing (MCP 2025-11-25, basic/utilities/tasks).
            call.task.take_if(|_| !self.offered.tasks.is_some_and(|can| can.has_tool_calls()));
        }
        let then = match self.on_success(&request) {
            Ok(then) => then,
            Err(error) => return Inbound::Reply(Message::error(Some(id), error)),
        };
        let progress_token = request.meta().and_then(meta::progress_token);
        match self.pending.open(id, then) {
            Ok(ticket) => Inbound::Call(IncomingCall { ticket, request, progress_token }),
            Err(id) => Inbound::Reply(Message::error(Some(id), Self::overloaded())),
        }
    }

    fn on_success(&self, request: &ServerRequest) -> Result<OnSuccess, ErrorObject> {
        match request {
            ServerRequest::Subscribe(request) if request.uri.len() > MAX_SUBSCRIBED_URI => {
                let why = format!("invalid params: uri is longer than {MAX_SUBSCRIBED_URI} bytes");
                Err(ErrorObject::invalid_params(why))
            }
            ServerRequest::Subscribe(request) if !self.subscriptions.has_room(&request.uri) => {
                Err(too_many_subscriptions())
            }
            ServerRequest::Subscribe(request) => Ok(OnSuccess::Subscribe(request.uri.clone())),
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

    /// What a request gets that finds no room.
    #[must_use]
    pub fn overloaded() -> ErrorObject {
        ErrorObject::internal("too many requests in flight, try again later")
    }

    fn initialize(&mut self, params: &Params) -> Result<(Arc<Client>, Body), ErrorObject> {
        if self.client().is_some() {
            return Err(ErrorObject::invalid_request("the session is already initialized"));
        }
        let Initialize { protocol_version, capabilities, client_info } = params.to()?;
        let version = ProtocolVersion::negotiate(&protocol_version);
        let client = Arc::new(Client { version, implementation: client_info, capabilities });
        self.lifecycle = Lifecycle::Introduced(Arc::clone(&client));
        if !version.has_tasks() {
            self.offered.tasks = None;
        }
        Ok((client, encode::initialize(&self.info, &self.offered, version)))
    }

    fn set_level(&mut self, params: &Params) -> Result<Body, ErrorObject> {
        let name: String = params.required("level")?;
        self.level = Level::parse(&name)
            .ok_or_else(|| ErrorObject::invalid_params(format!("invalid params: unknown log level {name:?}")))?;
        Ok(Body::empty_object())
    }

    fn notification(&mut self, notification: Notification) -> Inbound {
        match notification.method.as_ref() {
            method::INITIALIZED => match &self.lifecycle {
                Lifecycle::Introduced(client) => {
                    self.lifecycle = Lifecycle::Ready(Arc::clone(client));
                    Inbound::Ready
                }
                Lifecycle::Fresh => Inbound::Ignored("initialized before initialize"),
                Lifecycle::Ready(_) => Inbound::Ignored("initialized twice"),
            },
            // MCP 2025-11-25, basic/utilities/cancellation: unknown, finished and malformed ones are ignored.
            // `initialize` is answered at once, so it can never be cancelled.
            method::CANCELLED => match notification.params.member("requestId").and_then(RequestId::from_raw) {
                Some(id) => match self.pending.cancel(&id) {
                    Some(ticket) => Inbound::Cancel(ticket),
                    None => Inbound::Ignored("cancels nothing that is running"),
                },
                None => Inbound::Ignored("cancels without a request id"),
            },
            _ if self.client().is_none() => Inbound::Ignored("a notification before initialize"),
            _ => Inbound::Told(notification),
        }
    }
}

fn too_many_subscriptions() -> ErrorObject {
    ErrorObject::internal(format!("too many subscriptions: at most {}", Session::MAX_SUBSCRIPTIONS))
}
