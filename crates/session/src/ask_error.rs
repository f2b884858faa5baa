//! The reasons why a request to the client has no answer.

use std::time::Duration;

use protomcp_types::ErrorObject;

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The client does not know this kind of question; it was not asked.
    #[error("the client does not support {0}")]
    NotSupported(&'static str),
    /// The client, or its user, has refused.
    #[error("the client refused: {0}")]
    Refused(ErrorObject),
    /// The client has answered with something else.
    #[error("the client's answer cannot be read: {0}")]
    Unreadable(String),
    /// The session is over, or the call that asks is answered or cancelled.
    #[error("the session or request has already ended")]
    Gone,
    /// The client has opened no session, because its revision has none: it can be asked while one of its requests is
    /// answered, and not otherwise.
    #[error("the client has no session: it can be asked only while it waits for an answer")]
    NoSession,
    /// The client took too long, and the request was cancelled.
    #[error("the client did not answer within {0:?}")]
    TimedOut(Duration),
    /// The client has not answered too many questions, and it gets no more.
    #[error("too many questions wait for the client's answer")]
    TooMany,
    /// Without a session, only calls of tools, prompts and reads of resources may ask (MCP 2026-07-28,
    /// basic/patterns/mrtr).
    #[error("this request type cannot ask the client")]
    OutOfPlace,
}

/// For handlers that cannot continue without the answer.
impl From<AskError> for ErrorObject {
    fn from(error: AskError) -> Self {
        Self::internal(error.to_string())
    }
}
