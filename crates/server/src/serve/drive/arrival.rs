//! The message that was received last: its origin, and the bytes that its requests reserve until they are answered.

use std::sync::Arc;

use protomcp_types::{Incoming, Message};

use protomcp_fair::{Budget, OverBudget, Owner, Reservation};
use protomcp_session::{Extensions, Limits};
use protomcp_transport::{Received, Source};

/// The facts about the text that was received last. An idle session keeps nothing of it.
#[derive(Debug, Default)]
pub(super) struct Arrival {
    pub(super) known: Extensions,
    /// Bytes that its requests take together.
    bytes: usize,
    /// Shared by its requests, as they share its memory.
    reservation: Option<Arc<Reservation>>,
}

impl Arrival {
    pub(super) fn of(received: &Received, source: &mut impl Source) -> Self {
        let (requests, weight) = match received {
            Ok(Incoming::One(message)) => weigh(message),
            Ok(Incoming::Batch(messages)) => {
                let weights = messages.iter().flatten().map(weigh);
                weights.fold((0, 0), |(requests, bytes), (more, weight)| (requests + more, bytes + weight))
            }
            Err(_) => (0, 0),
        };
        let bytes = source.text_len().max(weight) + requests * Limits::REQUEST_OVERHEAD;
        Self { known: source.extensions(), bytes, reservation: None }
    }

    /// Bytes for a request that is about to run; `None`: its transport has reserved them.
    pub(super) fn reserve(&mut self, budget: &Budget, owner: &Owner) -> Result<Option<Arc<Reservation>>, OverBudget> {
        if self.reservation.is_none() && self.known.find::<Reservation>().is_none() {
            self.reservation = Some(Arc::new(budget.reserve(owner, self.bytes)?));
        }
        Ok(self.reservation.clone())
    }
}

/// The number of requests in a message, and the bytes of its parameters.
fn weigh(message: &Message) -> (usize, usize) {
    match message {
        Message::Request(request) => (1, request.params.weight()),
        Message::Notification(_) | Message::Response(_) => (0, 0),
    }
}
