//! One typed call without a session, for a front whose clients take no reports and answer no questions.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Wakes, Poll, ready};

use protomcp_types::{CallTool, ErrorObject, GetPrompt, JsonObject, Method, ReadResource, RequestId};

use crate::records::overload;
use crate::serve::Server;
use crate::serve::access_log::{Access, as_sent};
use crate::serve::peer::Peer;
use crate::serve::stateless::call::{CallReplies, CallReply};
use crate::serve::stateless::request::StatelessParts;
use crate::service::Service;
use protomcp_fair::Reservation;
use protomcp_session::{ClientInfo, Extensions, RetryInput, ServerRequest, ServerResult, StatelessCall, StatelessInfo};

/// One typed call without a session ([`Server::call_once`]). Polling it drives the call. Dropping it cancels the call,
/// which then has its grace ([`Limits::cancel_grace`](crate::Limits::cancel_grace)) in its own task.
#[must_use = "a call runs while it is polled"]
pub struct SingleCall {
    /// `None`: it was refused.
    call: Option<CallReplies>,
    refusal: Option<ErrorObject>,
    access: Option<Access>,
}

/// The answer to a [`SingleCall`].
#[derive(Debug)]
pub struct SingleAnswer {
    /// The result or the error of the service.
    pub outcome: Result<ServerResult, ErrorObject>,
    /// Its bytes in the outbound budget ([`Limits::max_outbound_bytes`](crate::Limits::max_outbound_bytes)), to be held
    /// until the client has read it; `None`: it is short.
    pub room: Option<Reservation>,
}

impl<S: Service> Server<S> {
    /// Makes one typed call without a session (MCP 2026-07-28). Nothing is spawned for a call that is polled to its end.
    /// `client` declares no capabilities; progress and log messages of the call are dropped. `known` is the knowledge of
    /// the transport about the request ([`Context::extension`](crate::Context::extension)); the caller bounds the bytes
    /// of requests. Must be called inside a tokio runtime with timers.
    ///
    /// The call is refused with an error when the server does not have the method (−32601), and while it shuts down
    /// (−32603). At a shutdown a running call may end within [`Limits::drain_timeout`](crate::Limits::drain_timeout).
    pub fn call_once(
        &self,
        request: ServerRequest,
        client: Arc<ClientInfo>,
        peer: Peer,
        known: Extensions,
    ) -> SingleCall {
        let (sessions, id) = (self.0.sessions.clone(), RequestId::from(0));
        let access = sessions.logs_access().then(|| {
            let sent = as_sent(&id, &request);
            Access::begin(&sent, &(self.0.targets)(&sent), &peer, &known, None)
        });
        let method = request.method();
        if !ServerRequest::is_answered(method, &sessions.stateless_info().capabilities) {
            return SingleCall { call: None, refusal: Some(ErrorObject::method_not_found(method)), access };
        }
        if sessions.is_shut_down() {
            return SingleCall { call: None, refusal: Some(overload::shutting_down()), access };
        }
        let inputs = asks(&request).map(|method| RetryInput {
            method,
            responses: BTreeMap::new(),
            state: None,
            // No other request continues the call, since its client cannot be asked.
            params: JsonObject::new(),
        });
        let info = StatelessInfo { log_level: None };
        let call = StatelessCall { request, client, progress_token: None, info, inputs };
        let (stateless, sending) = (sessions.stateless(), self.0.sending.clone());
        let parts = StatelessParts { sessions, stateless, sending, peer, id };
        let call = CallReplies::start(&parts, &self.0.service, call, known, None);
        SingleCall { call: Some(call), refusal: None, access }
    }
}

/// The method of a request whose call may ask its client.
fn asks(request: &ServerRequest) -> Option<&'static str> {
    match request {
        ServerRequest::CallTool(_) => Some(CallTool::NAME),
        ServerRequest::GetPrompt(_) => Some(GetPrompt::NAME),
        ServerRequest::ReadResource(_) => Some(ReadResource::NAME),
        _ => None,
    }
}

impl SingleCall {
    fn conclude(
        &mut self,
        outcome: Result<ServerResult, ErrorObject>,
        room: Option<Reservation>,
    ) -> Poll<SingleAnswer> {
        if let Some(access) = self.access.take() {
            access.concluded(&outcome);
        }
        Poll::Ready(SingleAnswer { outcome, room })
    }
}

impl Future for SingleCall {
    type Output = SingleAnswer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Wakes<'_>) -> Poll<SingleAnswer> {
        loop {
            let Some(call) = &mut self.call else {
                let refusal = self.refusal.take().unwrap_or_else(overload::shutting_down);
                return self.conclude(Err(refusal), None);
            };
            match ready!(call.poll_next(cx)) {
                Some(CallReply::Notification(..)) => {}
                Some(CallReply::Answer(outcome, room)) => return self.conclude(outcome, room),
                // A client without capabilities gets no task.
                Some(CallReply::Task(_)) | None => return self.conclude(Err(overload::shutting_down()), None),
            }
        }
    }
}

impl Drop for SingleCall {
    fn drop(&mut self) {
        if let Some(call) = self.call.take().filter(CallReplies::is_open) {
            call.abandon(());
        }
    }
}

impl fmt::Debug for SingleCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleCall").field("refusal", &self.refusal).finish_non_exhaustive()
    }
}
