//! Facts about the answers to a client's requests that only its transport knows.

/// The reason why a request has no answer of the server, in addition to an error that the transport has made in place
/// of one. A transport returns it among the `Extensions` of that message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoAnswer {
    /// The HTTP status of a response without a JSON-RPC answer.
    Status(u16),
    /// The session is not known to the server (404): a handshake begins another one. The request was not executed. In
    /// an error without an id it concerns no request: the stream of the session has ended, and a ping shows whether the
    /// session has. Together with an [`HttpStatus`] it is a guess: some servers reply with 400 or 410 to a session that
    /// they have forgotten, and reply so to other requests, too. Such a request is repeated once.
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

impl NoAnswer {
    /// True if the same request may have an answer soon: the server cannot be reached, is overloaded, or has failed.
    #[must_use]
    pub fn is_passing(self) -> bool {
        match self {
            Self::NotSent | Self::Connection | Self::Incomplete => true,
            Self::Status(status) => status >= 500 || status == 429,
            Self::SessionLost | Self::Unauthorized => false,
        }
    }
}

/// The HTTP status of a JSON-RPC error that a server has sent, or of a reply that may mean a lost session.
///
/// A transport returns it among the `Extensions` of that message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpStatus(pub u16);
