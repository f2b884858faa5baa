//! The effects of a message: messages for the bridge, and messages for the server.

use std::fmt;
use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_codec::Raw;
use protomcp_proto::{Envelope, Msg, RequestContext};
use protomcp_types::Message;

/// One effect.
#[derive(Debug)]
pub(crate) enum Step {
    /// The server receives this message, as if from a client, and this about its request.
    Deliver(Box<Message>, Option<Box<RequestContext>>),
    /// The bridge receives this envelope.
    Send(Box<Envelope>),
    /// The bridge receives this field of a result.
    SendRaw(Box<Raw>),
    /// The bridge receives this answer to the request with this id, when it is there.
    Later(String, Answer),
}

impl Step {
    pub(crate) fn deliver(message: impl Into<Message>) -> Self {
        Self::Deliver(Box::new(message.into()), None)
    }

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
