//! One typed call without a session, for a front whose clients answer no questions.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_types::{
    CallTool, ErrorObject, GetPrompt, JsonObject, Level, Method, Notification, ProgressToken, ReadResource, RequestId,
};

use crate::records::overload;
use crate::serve::Server;
use crate::serve::access_log::{Access, as_sent};
use crate::serve::peer::Peer;
use crate::serve::stateless::call::{CallReplies, CallReply};
use crate::serve::stateless::request::StatelessParts;
use crate::service::Service;
use protomcp_fair::Reservation;
use protomcp_session::{ClientInfo, Extensions, RetryInput, ServerRequest, ServerResult, StatelessCall, StatelessInfo};

/// The answer to a single call ([`Server::call_once`]).
#[derive(Debug)]
pub struct SingleAnswer {
    /// The result or the error of the service.
    pub outcome: Result<ServerResult, ErrorObject>,
    /// Its bytes in the outbound budget ([`Limits::max_outbound_bytes`](crate::Limits::max_outbound_bytes)), to be held
    /// until the client has read it; `None`: it is short.
    pub reservation: Option<Reservation>,
}

/// The sender of a single call ([`Server::call_once`]).
#[derive(Debug)]
pub struct SingleCaller {
    /// The client, which declares no capabilities.
    pub client: Arc<ClientInfo>,
    /// Its principal, its address and its connection.
    pub peer: Peer,
    /// The knowledge of the transport about the request ([`Context::extension`](crate::Context::extension)).
    pub known: Extensions,
    /// `None`: progress and log messages of the call are dropped.
    pub reports: Option<SingleReports>,
}

/// The reports that the sender of a single call wants.
pub struct SingleReports {
    /// The token under which it wants progress; `None`: it wants none.
    pub progress_token: Option<ProgressToken>,
    /// The least severe level of log messages that it wants; `None`: it wants none.
    pub log_level: Option<Level>,
    /// Gets each notification of the call, before its answer. It runs where the call is polled, so it must not block,
    /// and bounds what its client does not read.
    pub on_report: Box<dyn FnMut(Notification) + Send>,
}

impl fmt::Debug for SingleReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleReports")
            .field("progress_token", &self.progress_token)
            .field("log_level", &self.log_level)
            .finish_non_exhaustive()
    }
}

impl<S: Service> Server<S> {
    /// Makes one typed call without a session (MCP 2026-07-28). The caller bounds the bytes of requests. Must be called
    /// inside a tokio runtime with timers.
    ///
    /// The future drives the call: nothing is spawned for a call that is polled to its end. Dropping the future cancels
    /// the call, which then has its grace ([`Limits::cancel_grace`](crate::Limits::cancel_grace)) in its own task.
    ///
    /// The call is refused with an error when the server does not have the method (−32601), and while it shuts down
    /// (−32603). At a shutdown a running call may end within [`Limits::drain_timeout`](crate::Limits::drain_timeout).
    pub fn call_once(&self, request: ServerRequest, caller: SingleCaller) -> BoxFuture<'static, SingleAnswer> {
        let SingleCaller { client, peer, known, reports } = caller;
        let (progress_token, log_level, on_report) = match reports {
            Some(SingleReports { progress_token, log_level, on_report }) => {
                (progress_token, log_level, Some(on_report))
            }
            None => (None, None, None),
        };
        let (sessions, id) = (self.0.sessions.clone(), RequestId::from(0));
        let access = sessions.logs_access().then(|| {
            let sent = as_sent(&id, &request);
            Access::begin(&sent, &(self.0.targets)(&sent), &peer, &known, None)
        });
        let method = request.method();
        let call = if !ServerRequest::is_answered(method, &sessions.stateless_info().capabilities) {
            Err(ErrorObject::method_not_found(method))
        } else if sessions.is_shut_down() {
            Err(overload::shutting_down())
        } else {
            let inputs = asks(&request).map(|method| RetryInput {
                method,
                responses: BTreeMap::new(),
                state: None,
                // No other request continues the call, since its client cannot be asked.
                params: JsonObject::new(),
            });
            let info = StatelessInfo { log_level };
            let call = StatelessCall { request, client, progress_token, info, inputs };
            let (stateless, sending) = (sessions.stateless(), self.0.sending.clone());
            let parts = StatelessParts { sessions, stateless, sending, peer, id };
            let call = CallReplies::start(&parts, &self.0.service, call, known, None);
            Ok(OpenCall { call: Some(call), on_report })
        };
        async move {
            let (outcome, reservation) = match call {
                Ok(mut call) => call.answer().await,
                Err(refusal) => (Err(refusal), None),
            };
            if let Some(access) = access {
                access.concluded(&outcome);
            }
            SingleAnswer { outcome, reservation }
        }
        .boxed()
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

/// A call that is cancelled when it is dropped before its answer.
struct OpenCall {
    call: Option<CallReplies>,
    on_report: Option<Box<dyn FnMut(Notification) + Send>>,
}

impl OpenCall {
    /// The answer and its bytes.
    async fn answer(&mut self) -> (Result<ServerResult, ErrorObject>, Option<Reservation>) {
        while let Some(call) = &mut self.call {
            match poll_fn(|cx| call.poll_next(cx)).await {
                Some(CallReply::Notification(notification, _)) => {
                    if let Some(on_report) = &mut self.on_report {
                        on_report(notification);
                    }
                }
                Some(CallReply::Answer(outcome, reservation)) => return (outcome, reservation),
                // A client without capabilities gets no task.
                Some(CallReply::Task(_)) | None => break,
            }
        }
        (Err(overload::shutting_down()), None)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(call) = self.call.take().filter(CallReplies::is_open) {
            call.abandon(());
        }
    }
}
