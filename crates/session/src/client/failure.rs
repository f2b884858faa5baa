//! An error in place of a result, with its origin.

use protomcp_types::ErrorObject;

use crate::client::error::{OpenError, RequestError};
use crate::client::event::AnswerFacts;
use crate::no_answer::NoAnswer;

/// An error of the server, or of the transport in its place.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) error: ErrorObject,
    pub(super) facts: AnswerFacts,
}

impl Failure {
    /// True if the session is lost and the request was not executed.
    pub(super) fn is_session_lost(&self) -> bool {
        self.facts.no_answer == Some(NoAnswer::SessionLost)
    }
}

impl From<Failure> for RequestError {
    fn from(Failure { error, facts }: Failure) -> Self {
        match facts.no_answer {
            Some(why) => Self::Unanswered { why, error },
            None => Self::Refused(error),
        }
    }
}

impl From<Failure> for OpenError {
    fn from(Failure { error, facts }: Failure) -> Self {
        match facts.no_answer {
            Some(why) => Self::Unanswered { why, error },
            None => Self::Refused(error),
        }
    }
}
