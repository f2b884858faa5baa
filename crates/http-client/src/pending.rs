//! The requests that have no answer yet. Each gets one: the first that claims it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use protomcp_types::RequestId;
use tokio::time;
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
    /// The beginning of its time for an answer.
    pub(crate) turn: Turn,
    /// The length of its message.
    pub(crate) length: usize,
}

/// The time at which a request got its turn: none while it waits for a slot or an authorization. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn(Arc<Mutex<Option<Instant>>>);

impl Turn {
    /// The request is sent now.
    pub(crate) fn begin(&self) {
        *self.lock() = Some(time::Instant::now().into_std());
    }

    /// The output of an authorization, for which a user may have to sign in: the time does not pass until it is there.
    pub(crate) async fn paused<T>(&self, authorization: impl Future<Output = T>) -> T {
        let (paused, since) = (time::Instant::now(), self.lock().take());
        let output = authorization.await;
        *self.lock() = since.map(|since| since + paused.elapsed());
        output
    }

    pub(crate) fn since(&self) -> Option<Instant> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
