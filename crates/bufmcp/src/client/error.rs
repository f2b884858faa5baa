//! The reasons why a request of a client fails, and why its conversation ends.

use std::time::Duration;

use crate::fault::Fault;
use crate::frame::FrameTooLarge;

/// The reason why a request has no answer of its kind.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BinaryCallError {
    /// The server has answered with an error.
    #[error("{} ({})", .0.message, .0.code)]
    Refused(Fault),
    /// The server has not answered in time.
    #[error("the server did not answer within {0:?}")]
    TimedOut(Duration),
    /// The answer is of another kind, or not readable.
    #[error("the answer of the server is invalid: {0}")]
    InvalidAnswer(String),
    /// The request is too large to be sent.
    #[error(transparent)]
    TooLarge(FrameTooLarge),
    /// Too many requests wait to be sent. This one was not sent.
    #[error("too many requests wait to be sent")]
    TooMany,
    /// The conversation is over.
    #[error("{0}")]
    Closed(BinaryCloseReason),
}

/// The reason why a conversation is over.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BinaryCloseReason {
    /// This side has closed it.
    #[error("the connection was closed")]
    Requested,
    /// The server has closed its end.
    #[error("the server closed the connection")]
    ByServer,
    /// The server has closed its end inside a frame.
    #[error("the server closed the connection inside a frame")]
    Truncated,
    /// The stream has failed.
    #[error("the connection failed: {0}")]
    Failed(String),
    /// The server has sent a frame that is too large.
    #[error("the server sent too much: {0}")]
    TooLarge(FrameTooLarge),
    /// The server has sent several frames in a row that are not messages.
    #[error("the server does not send messages of proto-mcp")]
    Garbage,
    /// The server has refused the conversation.
    #[error("the server refused the connection: {} ({})", .0.message, .0.code)]
    Refused(Fault),
    /// The server has chosen a version that does not go with the client's.
    #[error("the server chose version {0:?}, which does not go with the client's")]
    UnsupportedVersion(String),
    /// The server has not answered the first request in time.
    #[error("the server did not open the connection within {0:?}")]
    NotOpened(Duration),
}

impl BinaryCloseReason {
    /// True if a server that does not speak proto-mcp ends a conversation like this: it has sent something else, nothing,
    /// or closed the stream.
    #[must_use]
    pub fn is_other_protocol(&self) -> bool {
        match self {
            Self::ByServer
            | Self::Truncated
            | Self::Failed(_)
            | Self::TooLarge(_)
            | Self::Garbage
            | Self::NotOpened(_) => true,
            Self::Requested | Self::Refused(_) | Self::UnsupportedVersion(_) => false,
        }
    }
}
