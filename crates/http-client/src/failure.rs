//! The reasons for which a request has no answer of the server.

use std::sync::Arc;

use protomcp_session::Extensions;
use protomcp_transport::{HttpStatus, NoAnswer};
use protomcp_types::{ErrorObject, Message, RequestId, code};

/// A request without an answer: the reason for programs, and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: NoAnswer,
    pub(crate) text: String,
    /// The status of a reply that may mean a lost session.
    status: Option<HttpStatus>,
}

impl Failure {
    pub(crate) fn new(reason: NoAnswer, text: impl Into<String>) -> Self {
        Self { reason, text: text.into(), status: None }
    }

    /// The connection failed before a response came.
    pub(crate) fn connection(text: impl Into<String>) -> Self {
        Self::new(NoAnswer::Connection, text)
    }

    /// The response ended before the answer.
    pub(crate) fn incomplete(text: impl Into<String>) -> Self {
        Self::new(NoAnswer::Incomplete, text)
    }

    pub(crate) fn session_lost() -> Self {
        Self::new(NoAnswer::SessionLost, "the server does not know the session any longer")
    }

    /// The same for a reply by which the server may have forgotten the session of the request.
    pub(crate) fn guessed_loss(self) -> Self {
        match self.reason {
            NoAnswer::Status(status) => {
                Self { reason: NoAnswer::SessionLost, status: Some(HttpStatus(status)), text: self.text }
            }
            _ => self,
        }
    }

    /// The error in place of the answer, and the facts about it.
    pub(crate) fn answer(self, id: RequestId) -> (Message, Extensions) {
        self.message(Some(id))
    }

    /// The same for no request.
    pub(crate) fn notice(self) -> (Message, Extensions) {
        self.message(None)
    }

    fn message(self, id: Option<RequestId>) -> (Message, Extensions) {
        let message = Message::error(id, ErrorObject::new(code::INTERNAL_ERROR, self.text));
        let extensions = Extensions::default().with(Arc::new(self.reason));
        match self.status {
            Some(status) => (message, extensions.with(Arc::new(status))),
            None => (message, extensions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_carries_its_reason() {
        let (message, extensions) = Failure::session_lost().answer(RequestId::from(1));
        assert!(message.to_text().contains("-32603"));
        assert_eq!(extensions.find::<NoAnswer>(), Some(&NoAnswer::SessionLost));
    }
}
