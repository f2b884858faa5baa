//! Errors of a link, grouped by the reaction of the caller.

use std::time::Duration;

use protomcp_codec::{DecodeError, InflateError};
use protomcp_envelope::UnexpectedMessage;

/// The reason why a call has no answer. Other calls are not affected unless it is [`Closed`](Self::Closed).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The tool process did not answer in time. It was sent a cancel request; a late answer is ignored.
    #[error("timed out after {0:?}")]
    TimedOut(Duration),
    /// The link closed before the answer came.
    #[error("the link to the tool process closed: {0}")]
    Closed(Closed),
    /// The tool process failed its handshake, so it receives no calls.
    #[error("the tool process is not in service: {0}")]
    NotInService(HandshakeError),
    /// The bytes of the answer are not an envelope. The link stays open.
    #[error("the answer cannot be read: {0}")]
    Malformed(DecodeError),
    /// The answer was larger than this side accepts. It was skipped; the link stays open.
    #[error("the answer has {size} bytes, more than the limit of {limit}")]
    AnswerTooLarge {
        /// Size the tool process announced, in bytes.
        size: u64,
        /// The exceeded limit, in bytes.
        limit: u64,
        /// It is the limit of a frame, and not the limit of a whole answer.
        is_of_frame: bool,
    },
    /// The lists in the answer have more entries than this side accepts. It was not decoded; the link stays open.
    #[error("the answer, a {message}, has more than {limit} entries")]
    TooManyEntries {
        /// Its kind.
        message: &'static str,
        /// The exceeded limit.
        limit: usize,
    },
    /// The request did not fit a frame and was not sent.
    #[error("the request has {size} bytes, more than the limit of {limit}")]
    RequestTooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit of a frame, in bytes.
        limit: usize,
    },
    /// The answer's payload could not be inflated.
    #[error("the answer's payload is unusable: {0}")]
    Payload(#[from] InflateError),
    /// A large answer named a field that this message does not have.
    #[error("the tool process sent a large value for an unknown field \"{0}\"")]
    UnknownField(String),
    /// The tool process answered with another kind of message.
    #[error(transparent)]
    Unexpected(#[from] UnexpectedMessage),
    /// This side interrupted the call, for a reload for example.
    #[error("it was interrupted")]
    Interrupted,
    /// Too many requests are in flight, or the tool process does not read its socket.
    #[error("the tool process is overloaded: {0} requests are waiting")]
    Busy(usize),
}

impl CallError {
    /// True if the answer is larger than a whole answer may be, once it is put together and inflated.
    #[must_use]
    pub fn exceeds_result_limit(&self) -> bool {
        matches!(self, Self::AnswerTooLarge { is_of_frame: false, .. } | Self::Payload(InflateError::TooLarge { .. }))
    }

    /// The tool process chooses the name; only as much is kept as a reader can use.
    pub(crate) fn unknown_field(mut name: String) -> Self {
        name.truncate(name.floor_char_boundary(256));
        name.shrink_to_fit();
        Self::UnknownField(name)
    }
}

/// The reason why a link ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// The tool process closed its end.
    #[error("the tool process disconnected")]
    ByPeer,
    /// This side closed it.
    #[error("it was closed on purpose")]
    Here,
    /// The stream could not be decoded any further.
    #[error("the tool process sent bytes that cannot be understood: {0}")]
    Broken(String),
    /// Reading or writing failed.
    #[error("input or output failed: {0}")]
    Io(String),
    /// The tool process has sent nothing for this time, not even the answer to a ping, and works on no request.
    #[error("the tool process has not answered for {0:?}")]
    Silent(Duration),
}

/// The byte stream is lost; the tool process has to be restarted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Bytes arrived that begin no frame, or a payload too large to be skipped.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// The reason why a handshake failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// No tool list came in time.
    #[error("it did not send its tool list within {0:?}")]
    TimedOut(Duration),
    /// The process reported that registering failed.
    #[error("it reported: {0}")]
    Refused(String),
    /// The tool list was rejected.
    #[error("its tool list was refused: {0}")]
    Undecoded(String),
}

/// The reason why a process did not reload in place. The previous list stays valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// The process answered that it failed, with its reason.
    #[error("it reported: {0}")]
    Refused(String),
    /// The process did not answer the request.
    #[error("it did not answer within {0:?}")]
    Unanswered(Duration),
    /// The new tool list was rejected.
    #[error("its tool list was refused: {0}")]
    Undecoded(String),
}
