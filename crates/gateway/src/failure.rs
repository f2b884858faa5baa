//! The reasons why a server gave no answer, as results and errors for clients.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use protomcp_client::{NoAnswer, RequestError};
use protomcp_schema::ErrorMeta;
use protomcp_types::{CallToolResult, ErrorObject, RawJson};

use crate::health::Cause;

/// The reason why a server gave no answer.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) server: Arc<str>,
    pub(crate) why: Why,
}

/// The kind of failure.
#[derive(Debug, Clone)]
pub(crate) enum Why {
    /// The server cannot be reached.
    Down { cause: Cause, retry_in: Duration },
    /// Too many sessions are in use, or too many of one owner.
    Full,
    /// The client or its session is gone.
    Gone,
    /// The request was cancelled before the answer.
    Late,
    /// A list is not whole in this time. It is asked for in the background.
    ListLate(Duration),
    /// The request has failed.
    Request(RequestError),
}

impl Failure {
    /// The server's own error, if it has answered with one.
    pub(crate) fn refusal(&self) -> Option<&ErrorObject> {
        match &self.why {
            Why::Request(RequestError::Refused(error)) => Some(error),
            _ => None,
        }
    }

    /// True if the session of the request has ended before the answer.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.why, Why::Request(RequestError::Closed(_)))
    }

    fn code(&self) -> &'static str {
        match &self.why {
            Why::Down { .. } => "SERVER_DOWN",
            Why::Full => "OVERLOADED",
            Why::Gone => "SHUTTING_DOWN",
            Why::Late => "NO_ANSWER",
            Why::ListLate(_) => "TIMEOUT",
            Why::Request(error) => match error {
                RequestError::Closed(_) => "SERVER_LOST",
                RequestError::Unanswered { why: NoAnswer::Unauthorized, .. } => "UNAUTHORIZED",
                RequestError::Unanswered { .. } => "NO_ANSWER",
                RequestError::TimedOut(_) => "TIMEOUT",
                RequestError::TooMany => "OVERLOADED",
                RequestError::NoInput(_) | RequestError::TooManyRounds(_) => "NO_INPUT",
                RequestError::TaskCancelled(_) => "TASK_CANCELLED",
                _ => "INVALID_RESPONSE",
            },
        }
    }

    fn suggestion(&self) -> Option<&'static str> {
        match &self.why {
            Why::Down { .. } => Some("the gateway connects again by itself; try again later"),
            Why::Request(RequestError::Closed(_)) => Some("the gateway connects again by itself; retry"),
            Why::ListLate(_) => Some("the gateway waits for the list by itself; try again later"),
            Why::Full | Why::Request(RequestError::TooMany) => Some("try again later"),
            Why::Gone | Why::Late | Why::Request(_) => None,
        }
    }

    fn is_retryable(&self) -> bool {
        match &self.why {
            Why::Down { .. } | Why::Full | Why::Gone | Why::Late | Why::ListLate(_) => true,
            // The call may still be running, and would time out again.
            Why::Request(RequestError::TimedOut(_)) => false,
            Why::Request(error) => error.is_retryable(),
        }
    }

    /// The result of a call.
    pub(crate) fn into_result(self) -> CallToolResult {
        let message = self.to_string();
        let meta = self.meta(&message);
        CallToolResult::error(message).with_meta(meta)
    }

    /// The error of any other request.
    pub(crate) fn into_error(self) -> ErrorObject {
        let message = self.to_string();
        let data = self.meta(&message);
        ErrorObject::internal(message).with_data(data)
    }

    /// The code and the remedy, for programs.
    fn meta(&self, message: &str) -> RawJson {
        let (code, suggestion) = (Some(self.code()), self.suggestion());
        ErrorMeta { code, message, suggestion, retryable: self.is_retryable(), retry_after: None }.to_meta()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match &self.why {
            Why::Down { cause, retry_in } => {
                write!(f, "server \"{server}\" is down: {}", cause.shown)?;
                if retry_in.is_zero() { Ok(()) } else { write!(f, "; the next attempt is in {retry_in:.1?}") }
            }
            Why::Full => write!(f, "too many sessions with server \"{server}\" are in use"),
            Why::Gone => write!(f, "the session with server \"{server}\" is over"),
            Why::Late => {
                write!(f, "server \"{server}\" did not answer before the request was cancelled or its session ended")
            }
            Why::ListLate(limit) => write!(f, "server \"{server}\" did not answer within {limit:?}"),
            Why::Request(error) => write!(f, "server \"{server}\": {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use protomcp_client::CloseReason;

    use super::*;

    #[test]
    fn a_late_answer_may_be_too_late_for_a_session() {
        let failure = Failure { server: "a".into(), why: Why::Late };
        assert!(failure.to_string().ends_with("before the request was cancelled or its session ended"), "{failure}");
    }

    #[test]
    fn the_output_of_a_server_is_for_the_log_alone() {
        let cause = Cause { shown: "it has ended".into(), logged: "it has ended: secret".into() };
        let failure = Failure { server: "a".into(), why: Why::Down { cause, retry_in: Duration::ZERO } };
        assert_eq!(failure.to_string(), "server \"a\" is down: it has ended");
    }

    #[test]
    fn a_failed_call_says_if_it_may_succeed_later() {
        let failure = |why| Failure { server: "a".into(), why };
        let down = Why::Down { cause: "refused".into(), retry_in: Duration::from_millis(250) };
        for (why, code, retryable) in [
            (down, "SERVER_DOWN", true),
            (Why::Request(RequestError::Closed(CloseReason::ByServer(None))), "SERVER_LOST", true),
            (Why::Request(RequestError::TimedOut(Duration::from_secs(1))), "TIMEOUT", false),
            (Why::Late, "NO_ANSWER", true),
            (Why::ListLate(Duration::from_secs(1)), "TIMEOUT", true),
            (Why::Request(RequestError::InvalidAnswer("x".into())), "INVALID_RESPONSE", false),
        ] {
            let result = failure(why).into_result();
            let meta = result.meta.unwrap();
            assert!(result.is_error && meta.as_str().contains(code), "{meta}");
            assert!(meta.as_str().contains(&format!(r#""retryable":{retryable}"#)), "{meta}");
        }
        let error = failure(Why::Down { cause: "no".into(), retry_in: Duration::from_millis(250) }).into_error();
        assert_eq!(error.message, "server \"a\" is down: no; the next attempt is in 250.0ms");
    }
}
