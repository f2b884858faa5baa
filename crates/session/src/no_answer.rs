//! Facts about the answers to a client's requests that only its transport knows.

/// The reason why a request has no answer of the server, beside an error that the transport has made in place of one.
/// A transport returns it among the `Extensions` of that message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoAnswer {
    /// The HTTP status of a response without a JSON-RPC answer.
    Status(u16),
    /// The session is not known to the server (404): a handshake begins another one. The request was not executed.
    SessionLost,
    /// The request was not sent: the server cannot be reached, or a header field cannot be sent. It was not executed.
    NotSent,
    /// The connection failed before a response came. The request may have been executed.
    Connection,
    /// The response ended before the answer, and could not be resumed. The request may have been executed.
    Incomplete,
    /// The server wants an authorization that was not obtained.
    Unauthorized,
}

/// The HTTP status of a JSON-RPC error that a server has sent. A transport returns it among the `Extensions` of that
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpStatus(pub u16);
