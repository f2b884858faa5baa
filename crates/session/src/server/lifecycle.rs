//! The lifecycle of the stateful revisions: the handshake, and the messages that are valid before, during and after it
//! (MCP 2025-11-25, basic/lifecycle).
//!
//! ```text
//!            initialize (bad) ─ error
//!                 ┌──┐
//!                 ▼  │  initialize (good)               notifications/initialized
//!               Fresh ───────────────────▶ Introduced ──────────────────────────▶ Ready
//!   ping answered, rest refused        requests served                requests served, notified of changes
//! ```

use std::sync::Arc;

use protomcp_types::{
    ErrorObject, Initialize, JsonBuf, Level, Message, Method, Notification, Params, Ping, ProgressToken,
    ProtocolVersion, Request, RequestId, Response, SetLevel, Subscribe, method,
};

use crate::client_info::ClientInfo;
use crate::pending::{Era, OnSuccess};
use crate::request::ServerRequest;
use crate::server::handshake::Lifecycle;
use crate::server::{Inbound, IncomingCall, Session, encode};
use crate::topic::Topic;

impl Session {
    /// A request of the stateful revisions. `progress_token` comes from its `_meta`.
    pub(super) fn stateful(
        &mut self,
        Request { id, method, params }: Request,
        progress_token: Option<ProgressToken>,
    ) -> Inbound {
        let answer = match (method.as_ref(), self.client().map(Arc::clone)) {
            // MCP 2025-11-25, basic/utilities/ping: at any time, with an empty result.
            (Ping::NAME, _) => Ok(JsonBuf::empty_object()),
            (Initialize::NAME, _) => match self.initialize(&params) {
                Ok((client, result)) => return Inbound::Opened(client, Message::result(id, result)),
                Err(error) => Err(error),
            },
            (_, None) => {
                Err(ErrorObject::invalid_request(format!("method {method:?} is invalid during session initialization")))
            }
            (SetLevel::NAME, _) if self.offered.logging.is_some() => self.set_level(&params),
            (SetLevel::NAME, _) => Err(ErrorObject::method_not_found(&method)),
            (method, _) if !ServerRequest::is_answered(method, &self.offered) => {
                Err(ErrorObject::method_not_found(method))
            }
            (_, Some(client)) => match ServerRequest::read(method, params) {
                Ok(request) => return self.call_service(id, request, client, progress_token),
                Err(error) => Err(error),
            },
        };
        Inbound::Reply(Response { id: Some(id), outcome: answer }.into())
    }

    fn call_service(
        &mut self,
        id: RequestId,
        mut request: ServerRequest,
        client: Arc<ClientInfo>,
        progress_token: Option<ProgressToken>,
    ) -> Inbound {
        if let ServerRequest::CallTool(call) = &mut request {
            // A server without tasks ignores the request for one (MCP 2025-11-25, basic/utilities/tasks).
            call.task.take_if(|_| !self.offered.tasks.is_some_and(|can| can.has_tool_calls()));
        }
        let then = match self.on_success(&request) {
            Ok(then) => then,
            Err(error) => return Inbound::Reply(Message::error(Some(id), error)),
        };
        let key = match self.pending.open_with(request.extra_room(), id, then, Era::Stateful) {
            Ok(key) => key,
            Err(id) => return Inbound::Reply(Message::error(Some(id), Self::overloaded())),
        };
        // From here on the service may report changes.
        if let ServerRequest::Subscribe(Subscribe { uri, .. }) = &request
            && !self.subscriptions.contains(uri)
            && !self.subscriptions.expect(key.number, Topic::Resource, std::slice::from_ref(uri))
        {
            self.pending.close(&key);
            return Inbound::Reply(Message::error(Some(key.id), self.subscriptions.full()));
        }
        Inbound::Call(IncomingCall { key, request, progress_token, client })
    }

    fn initialize(&mut self, params: &Params) -> Result<(Arc<ClientInfo>, JsonBuf), ErrorObject> {
        if self.client().is_some() {
            return Err(ErrorObject::invalid_request("the session is already initialized"));
        }
        let Initialize { protocol_version, capabilities, client_info } = params.to()?;
        let version = ProtocolVersion::negotiate(&protocol_version);
        let client = Arc::new(ClientInfo { version, implementation: client_info, capabilities });
        self.lifecycle = Lifecycle::Introduced(Arc::clone(&client));
        self.offer(version);
        self.has_changed = true;
        Ok((client, encode::initialize(&self.info, &self.offered, version)))
    }

    /// The server has these capabilities in the negotiated revision.
    pub(super) fn offer(&mut self, version: ProtocolVersion) {
        self.offered.extensions = None;
        if !version.has_tasks() {
            self.offered.tasks = None;
        }
    }

    fn set_level(&mut self, params: &Params) -> Result<JsonBuf, ErrorObject> {
        let name: String = params.required("level")?;
        self.level = Level::parse(&name)
            .ok_or_else(|| ErrorObject::invalid_params(format!("invalid params: unknown log level {name:?}")))?;
        self.has_changed = true;
        Ok(JsonBuf::empty_object())
    }

    pub(super) fn notification(&mut self, notification: Notification) -> Inbound {
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
            // `initialize` is answered immediately, so it can never be cancelled. The stateless revision has the same
            // notification for the same purpose.
            method::CANCELLED => match notification.params.member("requestId").and_then(RequestId::from_raw) {
                Some(id) => match self.pending.cancel(&id) {
                    Some((key, then)) => {
                        if matches!(then, OnSuccess::Subscribe(_)) {
                            self.subscriptions.expect_nothing(key.number);
                        }
                        self.stop_listening(key.number);
                        Inbound::Cancel(key)
                    }
                    None => Inbound::Ignored("cancels nothing that is running"),
                },
                None => Inbound::Ignored("cancels without a request id"),
            },
            _ if self.client().is_none() => Inbound::Ignored("a notification before initialize"),
            _ => Inbound::Notification(notification),
        }
    }
}
