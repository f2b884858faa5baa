//! The sending half: turns messages into HTTP requests.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use protomcp_transport::{AuthorizationContext, RequestStreams, Sink, TransportError};
use protomcp_types::{Message, Notification, Params, ProtocolVersion, Request, RequestId, RequestMeta, method};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;

use crate::client_request::{ClientRequest, Kind, Lane};
use crate::control::{self, Control, Posted};
use crate::conversation::{Conversation, Session};
use crate::exchange;
use crate::request::{self, SessionFields};

/// Messages without an answer that wait for those before them. Then [`Sink::flush`] waits.
const MAX_CONTROL: usize = 64;

/// The bytes that a message takes in addition to its body.
const OVERHEAD: usize = 1024;

/// The most requests for which header fields wait.
const MAX_FIELDS: usize = 64;

/// The sending half of an [`HttpTransport`](crate::HttpTransport). Dropping it ends all requests.
pub struct HttpSink {
    conversation: Arc<Conversation>,
    /// Requests that were not handed over.
    requests: VecDeque<Box<ClientRequest>>,
    /// Messages without an answer that were not handed over, with their weights.
    controls: VecDeque<(Control, usize)>,
    /// The bytes of both.
    weight: usize,
    /// Header fields for requests that are sent next.
    fields: VecDeque<(RequestId, Vec<(String, String)>)>,
    control: Option<mpsc::Sender<Control>>,
    /// The session whose end the server is told.
    ending: Option<oneshot::Receiver<()>>,
    /// `notifications/initialized` was sent in this session.
    is_initialized: bool,
    _closes: DropGuard,
}

impl HttpSink {
    pub(crate) fn new(conversation: Arc<Conversation>) -> Self {
        let closes = conversation.closed().clone().drop_guard();
        Self {
            conversation,
            requests: VecDeque::new(),
            controls: VecDeque::new(),
            weight: 0,
            fields: VecDeque::new(),
            control: None,
            ending: None,
            is_initialized: false,
            _closes: closes,
        }
    }

    fn send_request(&mut self, request: Request) {
        let meta = RequestMeta::of(&request.params);
        let (kind, session) = match request.method.as_ref() {
            _ if meta.is_stateless() => (Kind::Stateless, None),
            "initialize" => (Kind::Handshake, None),
            _ => (Kind::Stateful, self.conversation.session()),
        };
        if kind == Kind::Handshake {
            self.conversation.offer(None);
        }
        let mut headers = headers(&request.method, &request.params, &meta, session.as_deref());
        if let Some(at) = self.fields.iter().position(|(id, _)| *id == request.id)
            && let Some((_, fields)) = self.fields.remove(at)
        {
            add_fields(&mut headers, fields);
        }
        let gate = session.as_ref().filter(|_| self.is_initialized).map(|session| session.ready.clone());
        let (id, lane) = (request.id.clone(), Lane::of(&request.method));
        let body = request::body(&request.into());
        let pending = self.conversation.pending.add(id.clone(), length(&body));
        let request = ClientRequest { id, kind, headers, body, pending, lane, gate, session };
        self.weight += request.pending.length + OVERHEAD;
        self.requests.push_back(Box::new(request));
    }

    fn push_control(&mut self, control: Control) {
        let bytes = match &control {
            Control::Send(posted) | Control::Initialized(posted, _) => length(&posted.body),
            // The request is kept until it is cancelled.
            Control::Cancelled(posted, id) => {
                length(&posted.body) + self.conversation.pending.find(id).map_or(0, |request| request.length)
            }
            Control::End(..) => 0,
        };
        let weight = bytes + OVERHEAD;
        self.weight += weight;
        self.controls.push_back((control, weight));
    }

    fn send_notification(&mut self, notification: Notification) {
        let session = self.conversation.session();
        let meta = RequestMeta::of(&notification.params);
        let headers = headers(&notification.method, &notification.params, &meta, session.as_deref());
        let cancelled = (notification.method == method::CANCELLED).then(|| notification.params.member("requestId"));
        let cancelled = cancelled.flatten().and_then(RequestId::from_raw);
        let is_initialized = notification.method == method::INITIALIZED;
        let headers = match headers {
            Ok(headers) => headers,
            Err(why) => return tracing::warn!("a notification is not sent: {why}"),
        };
        let is_idempotent = is_initialized || cancelled.is_some();
        let method = Some(notification.method.clone());
        let posted = Posted { method, headers, body: request::body(&notification.into()), is_idempotent };
        let control = match cancelled {
            Some(id) => Control::Cancelled(posted, id),
            None if is_initialized => {
                self.is_initialized = true;
                Control::Initialized(posted, session)
            }
            None => Control::Send(posted),
        };
        self.push_control(control);
    }

    /// The fields of a message that is neither a request nor a notification.
    fn posted(&self, body: Vec<bytes::Bytes>) -> Posted {
        let fields = self.conversation.session().map(|session| session.fields.clone()).unwrap_or_default();
        // An answer to a question has its id.
        Posted { method: None, headers: request::session_post(&fields), body, is_idempotent: true }
    }

    /// Begins the requests that were not handed over. They do not wait for messages that expect no answer.
    fn begin_requests(&mut self) {
        for request in self.requests.drain(..) {
            self.weight -= request.pending.length + OVERHEAD;
            let conversation = Arc::clone(&self.conversation);
            self.conversation.spawn(exchange::run(conversation, *request));
        }
    }

    fn control(&mut self) -> mpsc::Sender<Control> {
        let conversation = &self.conversation;
        let started = self.control.get_or_insert_with(|| {
            let (sender, queue) = mpsc::channel(MAX_CONTROL);
            conversation.spawn(control::run(Arc::clone(conversation), queue));
            sender
        });
        started.clone()
    }

    fn check(&self) -> Result<(), TransportError> {
        if self.conversation.is_unread() { Err(TransportError::Closed) } else { Ok(()) }
    }
}

/// The length of a body.
fn length(body: &[bytes::Bytes]) -> usize {
    body.iter().map(bytes::Bytes::len).sum()
}

/// The fields of a message with a method.
fn headers(
    method: &str,
    params: &Params,
    meta: &RequestMeta,
    session: Option<&Session>,
) -> Result<http::HeaderMap, String> {
    if meta.is_stateless() {
        return request::stateless_post(method, params, meta)
            .map_err(|_| format!("no header field can carry the method {method:?}, or the revision"));
    }
    Ok(request::session_post(&session.map_or_else(SessionFields::default, |session| session.fields.clone())))
}

fn add_fields(headers: &mut Result<http::HeaderMap, String>, fields: Vec<(String, String)>) {
    if let Ok(known) = headers
        && let Err(name) = request::add_fields(known, fields)
    {
        *headers = Err(format!("the header field {name:?} cannot be sent"));
    }
}

impl Sink for HttpSink {
    fn send(&mut self, message: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        self.check()?;
        match message {
            Message::Request(request) => self.send_request(request),
            Message::Notification(notification) => self.send_notification(notification),
            Message::Response(response) => {
                let posted = self.posted(request::body(&response.into()));
                self.push_control(Control::Send(posted));
            }
        }
        Ok(())
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        self.check()?;
        if messages.iter().any(|message| !matches!(message, Message::Response(_))) {
            return messages.into_iter().try_for_each(|message| self.send(message, None));
        }
        let posted = self.posted(request::batch_body(&messages));
        self.push_control(Control::Send(posted));
        Ok(())
    }

    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams> {
        Some(self)
    }

    /// Begins the requests, which wait for a slot by themselves, and waits until messages that expect no answer have a
    /// place in their order. After [`RequestStreams::end_session`] it waits until the server knows, for as long as
    /// [`Limits::end_timeout`](crate::Limits::end_timeout).
    async fn flush(&mut self) -> Result<(), TransportError> {
        self.check()?;
        self.begin_requests();
        while !self.controls.is_empty() {
            let control = self.control();
            let permit = control.reserve().await.map_err(|_| TransportError::Closed)?;
            if let Some((step, weight)) = self.controls.pop_front() {
                self.weight -= weight;
                permit.send(step);
            }
            self.check()?;
        }
        if let Some(ending) = &mut self.ending {
            // The sender is dropped when the server knows.
            ending.await.unwrap_or_default();
            self.ending = None;
        }
        Ok(())
    }

    /// In bytes, including the bytes of requests whose cancellation waits, and some for each message.
    fn unwritten(&self) -> usize {
        self.weight + usize::from(self.ending.is_some())
    }
}

impl RequestStreams for HttpSink {
    fn add_fields(&mut self, request: &RequestId, fields: Vec<(String, String)>) {
        if let Some(queued) = self.requests.iter_mut().find(|queued| queued.id == *request) {
            return add_fields(&mut queued.headers, fields);
        }
        if self.fields.len() >= MAX_FIELDS {
            self.fields.pop_front();
        }
        self.fields.push_back((request.clone(), fields));
    }

    fn turn(&mut self, request: &RequestId, now: Instant) -> Option<Instant> {
        let pending = self.conversation.pending.find(request)?;
        Some(pending.turn.since().unwrap_or(now))
    }

    fn authorization(&self) -> AuthorizationContext {
        match self.conversation.client.authorizer.clone() {
            Some(authorizer) => AuthorizationContext::new(move || authorizer.context()),
            None => AuthorizationContext::default(),
        }
    }

    fn close_stream(&mut self, request: &RequestId) {
        if let Some(pending) = self.conversation.pending.claim(request) {
            pending.ended.cancel();
        }
        if let Some(at) = self.requests.iter().position(|queued| queued.id == *request)
            && let Some(queued) = self.requests.remove(at)
        {
            self.weight -= queued.pending.length + OVERHEAD;
        }
    }

    fn begin_session(&mut self, version: ProtocolVersion) {
        self.is_initialized = false;
        self.conversation.begin_session(version);
    }

    fn end_session(&mut self) {
        let (done, ending) = oneshot::channel();
        let session = self.conversation.leave_session();
        self.is_initialized = false;
        self.push_control(Control::End(session, done));
        self.ending = Some(ending);
    }
}

impl fmt::Debug for HttpSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSink")
            .field("conversation", &self.conversation)
            .field("unwritten", &self.weight)
            .finish_non_exhaustive()
    }
}
