//! The traits of a connection: a source of messages, and a sink.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use protomcp_types::{Incoming, Malformed, Message, RequestId};

use crate::delivery::Delivery;
use crate::request_streams::RequestStreams;
use protomcp_fair::Reservation;
use protomcp_session::{CallerKey, Extensions};

/// Received text: messages, or a malformed text together with the answer to it.
pub type Received = Result<Incoming, Malformed>;

/// A connection to one peer: to a client for a server, to a server for a client.
pub trait Transport: Send + 'static {
    /// The receiving half.
    type Source: Source;
    /// The sending half.
    type Sink: Sink;

    /// The authenticated principal at the other end. Only the principal that began a call or task can continue it.
    fn principal(&self) -> Option<Arc<str>> {
        None
    }

    /// The network address of the other end, if the connection crosses a network. Requests without a principal count
    /// for their address when callers share a limit; see [`Owner`](protomcp_fair::Owner).
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// The number of the connection that it is a part of, for transports that carry one request each. Requests of the
    /// same connection are one [`Conversation`](protomcp_session::Conversation).
    fn connection(&self) -> Option<u64> {
        None
    }

    /// Splits it into its two halves.
    fn split(self) -> (Self::Source, Self::Sink);
}

/// The receiving half of a connection.
pub trait Source: Send + 'static {
    /// The next message; `None` once the client has closed its end. Cancel safe: dropping the future loses no message.
    ///
    /// # Errors
    /// When nothing more can be read; malformed text is not such a case.
    fn next(&mut self) -> impl Future<Output = Result<Option<Received>, TransportError>> + Send;

    /// The transport's facts about the messages that [`Source::next`] has returned last. Called at most once after
    /// each.
    ///
    /// A source that has reserved bytes for a request itself (`ServerHandle::inbound_budget` of the server)
    /// puts the [`Reservation`] here. It is kept until the request is answered, and the server reserves
    /// nothing for that request.
    ///
    /// A [`CallerKey`] is the caller of the request in place of the peer: for sources that pass the requests of several
    /// callers on. Only a source whose other end is trusted may have one.
    fn extensions(&mut self) -> Extensions {
        Extensions::default()
    }

    /// The length of the text that [`Source::next`] has returned last, if messages share the memory of their text: a
    /// small part of it then keeps all of it. 0: a message weighs as much as its parameters.
    fn text_len(&self) -> usize {
        0
    }
}

/// The sending half of a connection.
pub trait Sink: Send + 'static {
    /// Takes a message without waiting. [`Sink::flush`] writes it.
    ///
    /// `during` is the client's request that the message belongs to: the answer to it, or a report or request of its
    /// call before that. `None`: the message belongs to the session. A sink without [`Sink::delivery`] can ignore it.
    ///
    /// # Errors
    /// When nothing more can be written.
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError>;

    /// Takes a request that is sent for one of several callers, as [`Sink::send`]. A sink to a server in this process
    /// passes the caller on, among the [extensions](Source::extensions) of the request. The default ignores it.
    ///
    /// # Errors
    /// See [`Sink::send`].
    fn send_for(&mut self, request: Message, caller: &Arc<CallerKey>) -> Result<(), TransportError> {
        let _ = caller;
        self.send(request, None)
    }

    /// Takes a message that has reserved its bytes of the outbound budget (`ServerHandle::outbound_budget` of the
    /// server). A sink that keeps account of the bytes itself keeps `reservation` until the message is written. The
    /// default returns it, and the server keeps it until [`Sink::flush`] has returned. A sink whose `flush` does not wait
    /// for the client has to keep account itself.
    ///
    /// # Errors
    /// See [`Sink::send`].
    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.send(message, during)?;
        Ok(Some(reservation))
    }

    /// Takes the answers to a batch, which belong into one array (MCP 2025-03-26, basic).
    ///
    /// # Errors
    /// When nothing more can be written.
    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        messages.into_iter().try_for_each(|message| self.send(message, None))
    }

    /// The streams of the requests; `None`: all messages share one stream, which is lost with the connection. Always
    /// the same for one sink.
    fn delivery(&mut self) -> Option<&mut dyn Delivery> {
        None
    }

    /// The exchanges of a client's requests; `None`: all messages share one stream. Always the same for one sink.
    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams> {
        None
    }

    /// Writes everything that was sent. Cancel safe: the next call continues where a dropped future stopped.
    ///
    /// # Errors
    /// When nothing more can be written.
    fn flush(&mut self) -> impl Future<Output = Result<(), TransportError>> + Send;

    /// The amount that waits to be written, in a unit of the sink's own. It falls while `flush` makes progress; 0 means
    /// nothing.
    fn unwritten(&self) -> usize;
}

/// The reason why a connection is over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The client has closed the connection.
    #[error("the client has closed the connection")]
    Closed,
    /// An error of the operating system.
    #[error("the connection to the client failed")]
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
