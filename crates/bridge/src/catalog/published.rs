//! The snapshot that requests read, and waits for its next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tokio::sync::Notify;

use crate::catalog::resources_and_prompts::{Catalog, Kind};
use crate::catalog::snapshot::Snapshot;
use crate::diagnostics::cause::Cause;

/// The time for a process that has just started to send its resources, templates and prompts, and for a request to wait
/// for them. A silent process has no such lists: old SDKs do not know the requests.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(5);

/// The current snapshot.
#[derive(Debug, Default)]
pub(crate) struct Published {
    snapshot: ArcSwap<Snapshot>,
    replaced: Notify,
    /// The reason for which the newest version of the files did not start.
    unstarted: Mutex<Option<Cause>>,
    /// The bridge ends, so that it stays.
    is_last: AtomicBool,
}

impl Published {
    pub(crate) fn load(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    pub(crate) fn load_full(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    pub(crate) fn store(&self, snapshot: Arc<Snapshot>) {
        self.snapshot.store(snapshot);
        self.replaced.notify_waiters();
    }

    /// The newest version of the files has started, or has not for this reason.
    pub(crate) fn set_unstarted(&self, why: Option<Cause>) {
        *self.unstarted.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// The reason for which the newest version of the files did not start.
    pub(crate) fn unstarted(&self) -> Option<Cause> {
        self.unstarted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nothing is awaited from now on: the bridge ends.
    pub(crate) fn close(&self) {
        self.is_last.store(true, Ordering::Release);
        self.replaced.notify_waiters();
    }

    /// Looks something up in these lists. While the process in service has still to send one of them, an entry that is
    /// not found is waited for, for [`START_TIMEOUT`] at most.
    pub(crate) async fn look_up<T>(&self, lists: &[Kind], find: impl Fn(&Catalog) -> Option<T>) -> Option<T> {
        let search = async {
            loop {
                let replaced = self.replaced.notified();
                {
                    let snapshot = self.load();
                    let found = find(snapshot.catalog());
                    let may_come = snapshot.catalog().awaits(lists) && !self.is_last.load(Ordering::Acquire);
                    if found.is_some() || !may_come {
                        return found;
                    }
                }
                replaced.await;
            }
        };
        tokio::time::timeout(START_TIMEOUT, search).await.ok().flatten()
    }
}
