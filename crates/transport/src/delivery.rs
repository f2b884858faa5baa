//! Connections on which each request has its own stream, as over Streamable HTTP.

use std::fmt;
use std::sync::Arc;

use protomcp_session::{RestoredSession, SessionState};
use protomcp_types::{ProtocolVersion, RequestId};

/// The streams of a [`Sink`](crate::Sink) that carries the messages of each request on its own stream.
///
/// Such a stream can be closed or lost while the connection continues, and the messages that belong to no request
/// (unsolicited ones) need their own stream. The client sees the end of a request's messages by the end of its stream.
pub trait Delivery: Send {
    /// A handshake has agreed on this revision. Called before the answer to `initialize` is sent.
    fn negotiated(&mut self, version: ProtocolVersion);

    /// The session of another process that this one continues; `None`: the client opens a session with a handshake.
    /// Called once, before any message is received.
    fn restored(&mut self) -> Option<RestoredSession> {
        None
    }

    /// True if another process can continue the session: it needs the state ([`Delivery::keep`]).
    fn keeps_state(&self) -> bool {
        false
    }

    /// The state of the session has changed. Called before the answer to the request that has changed it is sent.
    fn keep(&mut self, state: SessionState) {
        let _ = state;
    }

    /// The client has cancelled a request: it gets no answer.
    fn request_cancelled(&mut self, request: &RequestId);

    /// The call of a request sends nothing for a while. Closes the stream of its answer if the client can resume it.
    fn close_stream(&mut self, request: &RequestId);

    /// Reports requests whose streams are lost to `failures` from here on. Called once, before any message is sent.
    fn on_undeliverable(&mut self, failures: DeliveryFailures);

    /// True if an unsolicited message would reach the client now.
    fn can_send_unsolicited(&self) -> bool;

    /// True if a message of this request can reach the client, now or when the client resumes the stream.
    fn is_deliverable(&self, request: &RequestId) -> bool;
}

/// Reports requests whose messages can no longer reach the client, from any task.
#[derive(Clone)]
pub struct DeliveryFailures(Arc<dyn Fn(RequestId) + Send + Sync>);

impl DeliveryFailures {
    /// Calls `report` with each request.
    pub fn new(report: impl Fn(RequestId) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports that no message of this request can reach the client; [`Delivery::is_deliverable`] is then false. The
    /// requests that its call has sent to the client fail. The call itself continues, because a broken connection
    /// cancels nothing.
    pub fn report(&self, request: RequestId) {
        (self.0)(request);
    }
}

impl fmt::Debug for DeliveryFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryFailures").finish_non_exhaustive()
    }
}
