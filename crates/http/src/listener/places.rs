//! Places of a [`FairLimit`] that tasks hold, wait for, and lose.

#[cfg(feature = "tls")]
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::Owner;
#[cfg(feature = "tls")]
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::fair_limit::{Admitted, FairLimit, PlaceId, State};

/// Places that tasks share.
#[derive(Debug)]
pub(super) struct Places {
    limit: Mutex<FairLimit<CancellationToken>>,
    #[cfg(feature = "tls")]
    freed: Notify,
}

/// A place until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: PlaceId,
    revoked: CancellationToken,
}

/// A way to say what a place is used for, which keeps nothing.
#[derive(Debug, Clone)]
pub(super) struct PlaceUse {
    places: Arc<Places>,
    id: PlaceId,
}

impl Places {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: Mutex::new(FairLimit::new(max)),
            #[cfg(feature = "tls")]
            freed: Notify::new(),
        })
    }

    /// Takes a place now. The second value says whether it was taken from another holder, who has been told.
    pub(super) fn try_take(self: &Arc<Self>, owner: &Owner, state: State) -> Option<(Place, bool)> {
        let revoked = CancellationToken::new();
        let Admitted { id, evicted } = self.lock().admit(owner, state, revoked.clone()).ok()?;
        let has_evicted = evicted.is_some();
        if let Some(evicted) = evicted {
            evicted.cancel();
        }
        Some((Place { places: Arc::clone(self), id, revoked }, has_evicted))
    }

    /// Takes a place, and waits for one while there is none.
    #[cfg(feature = "tls")]
    pub(super) async fn take(self: &Arc<Self>, owner: &Owner, state: State) -> (Place, bool) {
        loop {
            let mut freed = pin!(self.freed.notified());
            // From here on no place is freed unnoticed.
            freed.as_mut().enable();
            if let Some(taken) = self.try_take(owner, state) {
                return taken;
            }
            freed.await;
        }
    }

    /// Takes an idle place from an address that holds most. `false`: none of its places is idle.
    pub(super) fn evict_idle(&self) -> bool {
        let evicted = self.lock().evict_idle();
        evicted.inspect(CancellationToken::cancel).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, FairLimit<CancellationToken>> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits until the place goes to another address.
    pub(super) async fn revoked(&self) {
        self.revoked.cancelled().await;
    }

    pub(super) fn usage(&self) -> PlaceUse {
        PlaceUse { places: Arc::clone(&self.places), id: self.id }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().leave(self.id);
        #[cfg(feature = "tls")]
        self.places.freed.notify_one();
    }
}

impl PlaceUse {
    pub(super) fn set(&self, state: State) {
        self.places.lock().set_state(self.id, state);
    }
}
