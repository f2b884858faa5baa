//! The way of requests to the session's task: one that does not get there is not waited for.

use protomcp_types::{Incoming, Message, RequestId};

use crate::body::SourceRequest;
use crate::http_session::HttpSession;
use crate::needed_scopes::NeededScopes;

/// Requests that have a stream and are still to be handed over. Those that are left when this is dropped, because the
/// connection broke or the session ended, have no answer: their ids are free again, and nothing waits for them.
pub(crate) struct PendingRequests<'a> {
    session: &'a HttpSession,
    left: &'a [RequestId],
    /// The request that brings them.
    source: &'a SourceRequest,
}

impl<'a> PendingRequests<'a> {
    /// `requests` in the order in which they will be handed over.
    pub(crate) fn new(session: &'a HttpSession, requests: &'a [RequestId], source: &'a SourceRequest) -> Self {
        session.needs(&NeededScopes::of(&source.head));
        Self { session, left: requests, source }
    }

    /// Hands a message to the session's task, as soon as there is room. `false`: the session is over.
    pub(crate) async fn deliver(&mut self, message: Message) -> bool {
        let is_request = matches!(message, Message::Request(_));
        let is_taken = self.session.deliver(Ok(Incoming::One(message)), Some(self.source.clone())).await;
        if is_taken && is_request {
            self.left = self.left.get(1..).unwrap_or_default();
        }
        is_taken
    }
}

impl Drop for PendingRequests<'_> {
    fn drop(&mut self) {
        self.left.iter().for_each(|request| self.session.unanswered(request));
    }
}
