//! The effects of a message: messages for the bridge, and messages for the server.

use protomcp_codec::Raw;
use protomcp_proto::{Envelope, RequestContext};
use protomcp_types::Message;

use crate::middleware::Intercepting;

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
    Intercept(String, Intercepting),
}

impl Step {
    pub(crate) fn deliver(message: impl Into<Message>) -> Self {
        Self::Deliver(Box::new(message.into()), None)
    }

    pub(crate) fn send(envelope: Envelope) -> Self {
        Self::Send(Box::new(envelope))
    }
}
