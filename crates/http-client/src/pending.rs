//! The requests that have no answer yet. Each gets one: the first that claims it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use protomcp_types::RequestId;
use tokio_util::sync::CancellationToken;

/// The requests without an answer, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<HashMap<RequestId, PendingRequest>>);

/// A request without an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingRequest {
    /// Cancelled when no answer is expected from its own response any longer: its exchange ends.
    pub(crate) ended: CancellationToken,
    /// Cancelled when a connection has taken the request.
    pub(crate) taken: CancellationToken,
    /// The time at which the request got its slot.
    pub(crate) turn: Arc<OnceLock<Instant>>,
    /// The length of its message.
    pub(crate) length: usize,
}

impl Pending {
    pub(crate) fn add(&self, id: RequestId, length: usize) -> PendingRequest {
        let request = PendingRequest { length, ..PendingRequest::default() };
        self.lock().insert(id, request.clone());
        request
    }

    /// Removes a request. Only the caller that gets it may deliver its answer.
    pub(crate) fn claim(&self, id: &RequestId) -> Option<PendingRequest> {
        self.lock().remove(id)
    }

    pub(crate) fn find(&self, id: &RequestId) -> Option<PendingRequest> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, PendingRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_claimed_once() {
        let pending = Pending::default();
        let id = RequestId::from(1);
        pending.add(id.clone(), 0);
        assert!(pending.find(&id).is_some());
        assert!(pending.claim(&RequestId::from("1")).is_none());
        assert!(pending.claim(&id).is_some());
        assert!(pending.claim(&id).is_none() && pending.find(&id).is_none());
    }
}
