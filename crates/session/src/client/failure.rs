//! An error in place of a result, with its origin.

use protomcp_types::ErrorObject;

use crate::client::error::{OpenError, RequestError};
use crate::client::event::AnswerFacts;
use crate::no_answer::{HttpStatus, NoAnswer};

/// An error of the server, or of the transport in its place.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) error: ErrorObject,
    pub(super) facts: AnswerFacts,
    /// The answer is there, and cannot be read.
    is_unreadable: bool,
}

impl Failure {
    pub(super) fn new(error: ErrorObject, facts: AnswerFacts) -> Self {
        Self { error, facts, is_unreadable: false }
    }

    /// The answer cannot be read, for this reason.
    pub(super) fn unreadable(error: ErrorObject) -> Self {
        Self { error, facts: AnswerFacts::default(), is_unreadable: true }
    }

    /// True if the same request may have an answer soon.
    pub(super) fn is_passing(&self) -> bool {
        self.facts.no_answer.is_some_and(NoAnswer::is_passing)
    }

    /// True if the session is lost and the request was not executed.
    pub(super) fn is_session_lost(&self) -> bool {
        self.facts.no_answer == Some(NoAnswer::SessionLost)
    }

    /// True if the session may be lost, and the reply may as well concern the request alone.
    pub(super) fn is_guessed_loss(&self) -> bool {
        self.is_session_lost() && self.facts.status.is_some()
    }
}

/// The reason for the caller. A reply that was not the loss of the session concerned the request.
fn reason(facts: AnswerFacts) -> Option<NoAnswer> {
    match (facts.no_answer, facts.status) {
        (Some(NoAnswer::SessionLost), Some(HttpStatus(status))) => Some(NoAnswer::Status(status)),
        (no_answer, _) => no_answer,
    }
}

impl From<Failure> for RequestError {
    fn from(Failure { error, facts, is_unreadable }: Failure) -> Self {
        match reason(facts) {
            _ if is_unreadable => Self::InvalidAnswer(error.message.into_owned()),
            Some(why) => Self::Unanswered { why, error },
            None => Self::Refused(error),
        }
    }
}

impl From<Failure> for OpenError {
    fn from(Failure { error, facts, is_unreadable }: Failure) -> Self {
        match reason(facts) {
            _ if is_unreadable => Self::InvalidAnswer(error.message.into_owned()),
            Some(why) => Self::Unanswered { why, error },
            None => Self::Refused(error),
        }
    }
}
