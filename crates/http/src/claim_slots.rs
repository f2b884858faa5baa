//! One request at a time claims a session that this process does not serve.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// The sessions that are being claimed: at most one for each request.
#[derive(Debug, Default)]
pub(crate) struct ClaimSlots(Mutex<Slots>);

type Slots = HashMap<Box<str>, Arc<tokio::sync::Mutex<()>>>;

/// The slot of a session. The next request takes it when it is dropped.
#[derive(Debug)]
pub(crate) struct ClaimSlot<'a> {
    slots: &'a ClaimSlots,
    key: &'a str,
    turn: Option<OwnedMutexGuard<()>>,
}

impl ClaimSlots {
    /// Waits until no other request claims this session.
    pub(crate) async fn enter<'a>(&'a self, key: &'a str) -> ClaimSlot<'a> {
        let slot = Arc::clone(self.slots().entry(key.into()).or_default());
        ClaimSlot { slots: self, key, turn: Some(slot.lock_owned().await) }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClaimSlot<'_> {
    fn drop(&mut self) {
        let mut slots = self.slots.slots();
        self.turn = None;
        // Those who wait have a reference, too.
        if slots.get(self.key).is_some_and(|slot| Arc::strong_count(slot) == 1) {
            slots.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_session_is_claimed_by_one_request_at_a_time() {
        let slots = ClaimSlots::default();
        let first = slots.enter("a").await;
        let other = slots.enter("b").now_or_never().expect("another session");
        let mut second = Box::pin(slots.enter("a"));
        assert!((&mut second).now_or_never().is_none(), "the first one is not done");
        drop((first, other));
        assert_eq!(slots.slots().len(), 1, "one waits");
        drop(second.now_or_never().expect("the first one is done"));
        assert!(slots.slots().is_empty());
    }
}
