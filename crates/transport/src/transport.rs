//! The traits of a connection: a source of messages, and a sink.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use protomcp_types::{Incoming, Malformed, Message, RequestId};

use protomcp_session::{Extensions, Reservation};

/// Received text: messages, or a malformed text together with the answer to it.
pub type Received = Result<Incoming, Malformed>;

/// A connection to one host.
pub trait Transport: Send + 'static {
    /// Where messages come from.
    type Source: Source;
    /// Where messages go.
    type Sink: Sink;

    /// The authenticated principal at the other end. What one principal has begun, no other goes on with.
    fn principal(&self) -> Option<Arc<str>> {
        None
    }

    /// The network address of the other end, when there is a network between. Requests without a principal count for
    /// their address when callers share a limit; see [`Owner`](protomcp_session::Owner).
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// The number of the connection that it is a part of, for transports that carry one request each. Requests of the same
    /// connection are one [`Conversation`](protomcp_session::Conversation).
    fn connection(&self) -> Option<u64> {
        None
    }

    /// Cuts it in two.
    fn split(self) -> (Self::Source, Self::Sink);
}

/// Where messages come from.
pub trait Source: Send + 'static {
    /// The next message; `None` once the host has closed its end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When nothing more can be read; malformed text is not such a case.
    fn next(&mut self) -> impl Future<Output = Result<Option<Received>, TransportError>> + Send;

    /// Further knowledge about the messages that [`Source::next`] has returned last. Asked at most once after each.
    ///
    /// A source that has reserved bytes for a request itself (`ServerHandle::inbound_budget` of the server)
    /// puts the [`Reservation`] here. It is kept until the request is answered, and the server reserves
    /// nothing for that request.
    fn extensions(&mut self) -> Extensions {
        Extensions::default()
    }

    /// The length of the text that [`Source::next`] has returned last, if messages share the memory of their text: a small
    /// part of it then keeps all of it. 0: a message weighs what its parameters do.
    fn text_len(&self) -> usize {
        0
    }
}

/// Where messages go.
pub trait Sink: Send + 'static {
    /// Takes a message without waiting. It leaves with the next [`Sink::flush`].
    ///
    /// `during` is the request of the host that the message belongs to: the answer to it, or what its call reports and
    /// asks before that. `None`: it belongs to the session. Connections with one way to the host need not look at it.
    ///
    /// # Errors
    /// When nothing more can be written.
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError>;

    /// As [`Sink::send`], of a message that has reserved its bytes of the outbound budget
    /// (`ServerHandle::outbound_budget` of the server). A sink that looks after the bytes itself keeps `room`
    /// until the message is written; one that gives it back, as by default, leaves that to the server, which keeps it until
    /// [`Sink::flush`] has returned. A sink whose `flush` does not wait for the client has to look after them.
    ///
    /// # Errors
    /// As [`Sink::send`].
    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        room: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.send(message, during)?;
        Ok(Some(room))
    }

    /// Takes the answers to a batch, which belong into one array (MCP 2025-03-26, basic).
    ///
    /// # Errors
    /// When nothing more can be written.
    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        messages.into_iter().try_for_each(|message| self.send(message, None))
    }

    /// A request will have no answer, because the host has cancelled it.
    fn unanswered(&mut self, request: &RequestId) {
        let _ = request;
    }

    /// True if all messages take one way to the host, so that the end of one request's messages cannot be seen from the
    /// way being closed. Then the host is told when nothing more comes for a request that listens.
    fn is_shared(&self) -> bool {
        true
    }

    /// The call of a request has nothing to say for a while: the stream that its answer was to take may be closed
    /// if the host can come back for it.
    fn pause(&mut self, request: &RequestId) {
        let _ = request;
    }

    /// Gives the sink a way to say that what belongs to a request can no longer reach the client.
    fn watch(&mut self, losses: Losses) {
        let _ = losses;
    }

    /// True if what belongs to no request would reach the host now.
    fn has_way(&self) -> bool {
        true
    }

    /// True if what belongs to a request of the host can still reach it, now or when it comes back.
    fn reaches(&self, request: &RequestId) -> bool {
        let _ = request;
        true
    }

    /// Writes everything that was sent. Dropping the future loses nothing: the next one goes on where it stopped.
    ///
    /// # Errors
    /// When nothing more can be written.
    fn flush(&mut self) -> impl Future<Output = Result<(), TransportError>> + Send;

    /// The amount that waits to be written, in a unit of the sink's own. It falls while `flush` makes headway; 0 means
    /// nothing.
    fn unwritten(&self) -> usize;
}

/// Reports requests whose messages can no longer reach the client, from any task.
#[derive(Clone)]
pub struct Losses(Arc<dyn Fn(RequestId) + Send + Sync>);

impl Losses {
    /// Calls `lost` with each request.
    pub fn new(lost: impl Fn(RequestId) + Send + Sync + 'static) -> Self {
        Self(Arc::new(lost))
    }

    /// Nothing that belongs to this request can still reach the client ([`Sink::reaches`] says so, too): what its call
    /// has asked fails. The call itself goes on, because a broken connection does not cancel.
    pub fn lost(&self, request: RequestId) {
        (self.0)(request);
    }
}

impl fmt::Debug for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Losses").finish_non_exhaustive()
    }
}

/// The reason why a connection cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The client is gone and reads nothing.
    #[error("the host has closed the connection")]
    Closed,
    /// The system failed us.
    #[error("the connection to the host failed")]
    Io(#[source] io::Error),
}

impl From<io::Error> for TransportError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                Self::Closed
            }
            _ => Self::Io(error),
        }
    }
}
