//! The reasons why a request of a client fails, and why its connection ends.

use std::time::Duration;

use protomcp_types::{ErrorObject, JsonObject, code};

use crate::no_answer::NoAnswer;

/// The reason why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The server has answered with an error.
    #[error("the server refused the request: {0}")]
    Refused(ErrorObject),
    /// The server has not answered, as its transport has found out.
    #[error("{}", unanswered(.why, .error))]
    Unanswered {
        /// The reason.
        why: NoAnswer,
        /// The reason in words. Its code is not the server's.
        error: ErrorObject,
    },
    /// The time without an answer or progress, or the time in all, is over. The request was cancelled.
    #[error("the server did not answer within {0:?}")]
    TimedOut(Duration),
    /// The answer is not one that the protocol allows.
    #[error("the answer of the server is invalid: {0}")]
    InvalidAnswer(String),
    /// The server has asked for input more often than [`ClientLimits::max_rounds`](crate::ClientLimits::max_rounds).
    #[error("the server asked for input more than {0} times")]
    TooManyRounds(u32),
    /// The server has asked for input that this client refuses.
    #[error("the client gave no input: {0}")]
    NoInput(ErrorObject),
    /// The server has cancelled the task of the call.
    #[error("the task was cancelled{}", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    TaskCancelled(Option<String>),
    /// Too many requests are without an answer, or too many bytes wait until the server reads them.
    #[error("too many requests wait for an answer")]
    TooMany,
    /// The parameters cannot be written as a JSON object.
    #[error("the parameters cannot be written: {0}")]
    InvalidParams(String),
    /// The revision of the connection does not have the request.
    #[error("{0}")]
    NotAvailable(&'static str),
    /// A layer of the client has failed, with its own error in words.
    #[error("a layer of the client failed: {0}")]
    Layer(String),
    /// The connection is over.
    #[error("{0}")]
    Closed(CloseReason),
}

/// The reason in words. A server that has replied, in its way, did not fail to answer.
fn unanswered(why: &NoAnswer, error: &ErrorObject) -> String {
    let text = &error.message;
    match why {
        NoAnswer::Status(_) => text.to_string(),
        NoAnswer::Unauthorized => format!("the request is not authorized: {text}"),
        NoAnswer::SessionLost | NoAnswer::NotSent | NoAnswer::Connection | NoAnswer::Incomplete => {
            format!("the server did not answer: {text}")
        }
    }
}

/// The reason why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side has closed it.
    #[error("the connection was closed")]
    Requested,
    /// The server has closed its end; for a process with its end in words.
    #[error("the server closed the connection{}", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    ByServer(Option<String>),
    /// The transport has failed.
    #[error("the connection failed: {0}")]
    Failed(String),
    /// The server has left several pings unanswered.
    #[error("the server stopped answering")]
    Unresponsive,
    /// The connection could not be opened.
    #[error("{0}")]
    NotOpened(OpenError),
}

/// The reason why a connection could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The server has not answered in time.
    #[error("the server did not open the connection within {0:?}")]
    TimedOut(Duration),
    /// The server has refused.
    #[error("the server refused the connection: {0}")]
    Refused(ErrorObject),
    /// The server has not answered, as its transport has found out.
    #[error("{}", unanswered(.why, .error))]
    Unanswered {
        /// The reason.
        why: NoAnswer,
        /// The reason in words. Its code is not the server's.
        error: ErrorObject,
    },
    /// The two sides have no revision in common.
    #[error("the server speaks none of the allowed revisions, only {}", .0.join(", "))]
    UnsupportedVersion(Vec<String>),
    /// The server has answered with something else.
    #[error("the answer of the server is invalid: {0}")]
    InvalidAnswer(String),
}

impl OpenError {
    /// True if another attempt may succeed: the server was not reached, was overloaded, or took too long.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut(_) => true,
            Self::Unanswered { why, .. } => why.is_passing(),
            Self::Refused(error) => error.is_retryable(),
            Self::UnsupportedVersion(_) | Self::InvalidAnswer(_) => false,
        }
    }
}

impl RequestError {
    /// True if the same request may succeed later or on another connection, or if the server says so
    /// ([`ErrorObject::is_retryable`]). It may have been executed already.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unanswered { why, .. } => why.is_passing() || *why == NoAnswer::SessionLost,
            Self::TimedOut(_) | Self::TooMany => true,
            Self::Closed(CloseReason::NotOpened(error)) => error.is_retryable(),
            Self::Closed(_) => true,
            Self::Refused(error) => error.is_retryable(),
            Self::InvalidAnswer(_)
            | Self::TooManyRounds(_)
            | Self::NoInput(_)
            | Self::TaskCancelled(_)
            | Self::InvalidParams(_)
            | Self::NotAvailable(_)
            | Self::Layer(_) => false,
        }
    }

    /// True if the server says that a resource does not exist: with −32002, or with −32602 and the URI (MCP 2025-11-25
    /// and 2026-07-28, server/resources). Servers use either code in any revision.
    #[must_use]
    pub fn is_resource_not_found(&self) -> bool {
        match self {
            Self::Refused(error) if error.code == code::RESOURCE_NOT_FOUND => true,
            Self::Refused(error) if error.code == code::INVALID_PARAMS => {
                let data = error.data.as_ref().and_then(|data| JsonObject::from_raw(data).ok());
                data.is_some_and(|data| data.member("uri").is_some())
            }
            _ => false,
        }
    }

    /// The code of the server's error, if the server has answered with one.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Refused(error) => Some(error.code),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::RawJson;

    use super::*;

    #[test]
    fn a_refusal_is_retryable_if_the_server_says_so() {
        let data = |text| ErrorObject::internal("no").with_data(RawJson::parse(text).unwrap());
        for (error, is_retryable) in [
            (ErrorObject::overloaded("the queue is full", "try again", Duration::from_secs(1)), true),
            (data(r#"{"protomcp/error":{"retryable":false}}"#), false),
            (data(r#"{"protomcp/error":{"retryable":"true"}}"#), false),
            (data(r#"{"protomcp/error":true}"#), false),
            (data(r#"{"retryable":true}"#), false),
            (data("[]"), false),
            (ErrorObject::internal("no"), false),
        ] {
            assert_eq!(RequestError::Refused(error.clone()).is_retryable(), is_retryable, "{error}");
            assert_eq!(OpenError::Refused(error.clone()).is_retryable(), is_retryable, "{error}");
        }
    }

    #[test]
    fn a_missing_resource_is_recognized_by_either_code() {
        let uri = || RawJson::parse(r#"{"uri":"a"}"#).unwrap();
        for (error, is_missing) in [
            (ErrorObject::new(-32002, "no"), true),
            (ErrorObject::new(-32002, "no").with_data(uri()), true),
            (ErrorObject::new(-32602, "no").with_data(uri()), true),
            (ErrorObject::new(-32602, "no").with_data(RawJson::text("a")), false),
            (ErrorObject::new(-32602, "no"), false),
            (ErrorObject::new(-32603, "no").with_data(uri()), false),
        ] {
            assert_eq!(RequestError::Refused(error.clone()).is_resource_not_found(), is_missing, "{error}");
            assert!(!RequestError::NoInput(error).is_resource_not_found());
        }
    }
}
