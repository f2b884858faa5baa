//! The way of requests to the session's task: one that does not get there is not waited for.

use protomcp_types::{Incoming, Message, RequestId};

use crate::body::Origin;
use crate::exchange::Exchange;
use crate::needed_scopes::NeededScopes;

/// Requests that have a stream and are still to be handed over. Those that are left when this is dropped, because the
/// connection broke or the session ended, have no answer: their ids are free again, and nothing waits for them.
pub(crate) struct Delivery<'a> {
    exchange: &'a Exchange,
    left: &'a [RequestId],
    /// The request that brings them.
    origin: &'a Origin,
}

impl<'a> Delivery<'a> {
    /// `requests` in the order in which they will be handed over.
    pub(crate) fn new(exchange: &'a Exchange, requests: &'a [RequestId], origin: &'a Origin) -> Self {
        exchange.needs(&NeededScopes::of(&origin.head));
        Self { exchange, left: requests, origin }
    }

    /// Hands a message to the session's task, as soon as there is room. `false`: the session is over.
    pub(crate) async fn hand_over(&mut self, message: Message) -> bool {
        let is_request = matches!(message, Message::Request(_));
        let is_taken = self.exchange.deliver(Ok(Incoming::One(message)), Some(self.origin.clone())).await;
        if is_taken && is_request {
            self.left = self.left.get(1..).unwrap_or_default();
        }
        is_taken
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        self.left.iter().for_each(|request| self.exchange.unanswered(request));
    }
}
