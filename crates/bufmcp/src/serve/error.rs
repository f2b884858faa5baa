//! The reasons for an early end of a conversation.

use std::io;

use crate::frame::FrameTooLarge;

/// The reason for an early end of a conversation. Requests in flight have been cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BinaryServeError {
    /// The stream has failed.
    #[error("the connection to the client failed")]
    Io(#[from] io::Error),
    /// The stream has ended inside a frame.
    #[error("the client closed the connection inside a frame")]
    Truncated,
    /// The client has sent a frame that is too large; it was told so.
    #[error(transparent)]
    TooLarge(#[from] FrameTooLarge),
    /// The client has sent several frames in a row that are not messages; it was told so.
    #[error("the client does not send messages of proto-mcp")]
    Garbage,
    /// The client has stopped reading; the last answers could not be written.
    #[error("the client does not read its answers")]
    Stalled,
    /// The messages of the client, or those that it does not read, exceed the capacity that the messages of other
    /// clients leave.
    #[error("there is no room for the messages of the client")]
    Overloaded,
}
