//! The effects of a message: messages for the bridge, and calls for the server.

use std::fmt;
use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_codec::Raw;
use protomcp_envelope::{Envelope, Msg, RequestContext};
use protomcp_server::ServerRequest;
use protomcp_types::{ProgressToken, RequestId};
use tokio_util::sync::CancellationToken;

use crate::handover::ToolRun;

/// One effect.
#[derive(Debug)]
pub(crate) enum Step {
    /// The server makes this call.
    Call(Box<ServerCall>),
    /// The bridge receives this envelope.
    Send(Box<Envelope>),
    /// The bridge receives this field of a result.
    SendRaw(Box<Raw>),
    /// The bridge receives this answer to the request with this id, when it is there.
    Later(String, Answer),
}

/// A call for the server.
#[derive(Debug)]
pub(crate) struct ServerCall {
    /// A text, as the bridge chose it, or the number of a request of this process.
    pub(crate) id: RequestId,
    pub(crate) request: ServerRequest,
    pub(crate) progress_token: Option<ProgressToken>,
    /// The client of the request, as the bridge describes it.
    pub(crate) about: Option<Box<RequestContext>>,
    /// Cancels the call.
    pub(crate) stop: CancellationToken,
    /// Only of a call that runs the handler of a tool.
    pub(crate) run: Option<ToolRun>,
}

impl ServerCall {
    pub(crate) fn new(id: RequestId, request: ServerRequest) -> Self {
        Self { id, request, progress_token: None, about: None, stop: CancellationToken::new(), run: None }
    }
}

impl Step {
    pub(crate) fn send(envelope: Envelope) -> Self {
        Self::Send(Box::new(envelope))
    }

    /// The answer to the request with this id, which takes a while.
    pub(crate) fn later<M: Into<Msg> + 'static>(id: String, answer: impl Future<Output = M> + Send + 'static) -> Self {
        Self::Later(id, Answer(answer.map(Into::into).boxed()))
    }
}

/// An answer that is on its way.
pub(crate) struct Answer(pub(crate) BoxFuture<'static, Msg>);

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
