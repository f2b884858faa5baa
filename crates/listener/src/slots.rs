//! Slots of a [`FairLimit`] that tasks hold, wait for and lose.

#[cfg(feature = "tls")]
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_fair::Network;
#[cfg(feature = "tls")]
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::fair_limit::{Acquired, FairLimit, SlotId, SlotState};

/// A pool of slots, shared by tasks.
#[derive(Debug)]
pub(crate) struct Slots {
    limit: Mutex<FairLimit<CancellationToken>>,
    #[cfg(feature = "tls")]
    freed: Notify,
}

/// An acquired slot; released on drop.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    id: SlotId,
    revoked: CancellationToken,
    has_evicted: bool,
}

/// Marks a slot as idle or busy, without holding it.
#[derive(Debug, Clone)]
pub(crate) struct SlotUsage {
    slots: Arc<Slots>,
    id: SlotId,
}

impl Slots {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: Mutex::new(FairLimit::new(max)),
            #[cfg(feature = "tls")]
            freed: Notify::new(),
        })
    }

    /// Takes a slot now, if one is free or can be evicted.
    pub(crate) fn try_take(self: &Arc<Self>, owner: Network, state: SlotState) -> Option<Slot> {
        let revoked = CancellationToken::new();
        let Acquired { id, evicted } = self.lock().acquire(owner, state, revoked.clone()).ok()?;
        let has_evicted = evicted.is_some();
        if let Some(evicted) = evicted {
            evicted.cancel();
        }
        Some(Slot { slots: Arc::clone(self), id, revoked, has_evicted })
    }

    /// Takes a slot; waits while there is none.
    #[cfg(feature = "tls")]
    pub(crate) async fn take(self: &Arc<Self>, owner: Network, state: SlotState) -> Slot {
        loop {
            let mut freed = pin!(self.freed.notified());
            // Enabled first, so that a release between the attempt and the wait is not missed.
            freed.as_mut().enable();
            if let Some(taken) = self.try_take(owner, state) {
                return taken;
            }
            freed.await;
        }
    }

    /// Evicts an idle slot of the address that holds most. `false`: none of its slots is idle.
    pub(crate) fn evict_idle(&self) -> bool {
        let evicted = self.lock().evict_idle();
        evicted.inspect(CancellationToken::cancel).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, FairLimit<CancellationToken>> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Resolves when the slot is given to another address.
    pub(crate) async fn revoked(&self) {
        self.revoked.cancelled().await;
    }

    /// True if another holder lost its slot for this one.
    pub(crate) fn has_evicted(&self) -> bool {
        self.has_evicted
    }

    pub(crate) fn usage(&self) -> SlotUsage {
        SlotUsage { slots: Arc::clone(&self.slots), id: self.id }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.lock().release(self.id);
        #[cfg(feature = "tls")]
        self.slots.freed.notify_one();
    }
}

impl SlotUsage {
    pub(crate) fn set(&self, state: SlotState) {
        self.slots.lock().set_state(self.id, state);
    }
}
