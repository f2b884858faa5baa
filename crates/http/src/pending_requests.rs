//! Delivers requests to the task of their session: the id of a request that is not delivered is freed.

use protomcp_types::{Incoming, Message, RequestId};

use crate::body::SourceRequest;
use crate::http_session::HttpSession;
use crate::needed_scopes::NeededScopes;

/// Requests that have a stream and are not delivered yet. Dropping this, because the connection broke or the session
/// ended, frees the ids of those that are left: they get no answer.
pub(crate) struct PendingRequests<'a> {
    session: &'a HttpSession,
    left: &'a [RequestId],
    /// The HTTP request that carries them.
    source: &'a SourceRequest,
}

impl<'a> PendingRequests<'a> {
    /// `requests` are in the order of delivery.
    pub(crate) fn new(session: &'a HttpSession, requests: &'a [RequestId], source: &'a SourceRequest) -> Self {
        session.needs(&NeededScopes::of(&source.head));
        Self { session, left: requests, source }
    }

    /// Delivers a message to the session's task once there is room. `false`: the session has ended.
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
        self.left.iter().for_each(|request| self.session.request_cancelled(request));
    }
}
