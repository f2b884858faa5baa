//! The processes that serve, as the store of leases knows them, without a lookup for each request.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::records::lease_name::LeaseName;
use crate::records::lease_store::LeaseStore;
use crate::records::node::NodeId;
use crate::records::store_error::StoreError;

/// The time for which an answer of the store is shared.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// Looks up the leases that run: one lookup at a time, and one in a second.
#[derive(Debug)]
pub(crate) struct LiveLeases {
    store: Arc<dyn LeaseStore>,
    /// The last answer. It is locked during a lookup, and those who want it wait.
    last: Mutex<Option<Answer>>,
}

#[derive(Debug, Clone)]
struct Answer {
    /// The time at which the store was asked.
    asked: Instant,
    /// The time until which the answer is shared.
    until: Instant,
    live: Result<Arc<[LeaseName]>, StoreError>,
}

impl LiveLeases {
    pub(crate) fn new(store: Arc<dyn LeaseStore>) -> Self {
        Self { store, last: Mutex::new(None) }
    }

    /// The lease of the process for which this is true; `None`: none had a lease after this call. A process with a lease
    /// may have lost it within the last second.
    pub(crate) async fn find(&self, is_wanted: impl Fn(&NodeId) -> bool) -> Result<Option<LeaseName>, StoreError> {
        let came = Instant::now();
        loop {
            let Answer { asked, until, live } = self.answer().await;
            let found = live?.iter().find(|lease| is_wanted(&lease.node)).cloned();
            if found.is_some() || asked >= came {
                return Ok(found);
            }
            // The process may have begun since then.
            sleep_until(until).await;
        }
    }

    /// The ones among these processes that had no lease after this call: they have ended.
    pub(crate) async fn gone(&self, mut nodes: HashSet<NodeId>) -> Result<HashSet<NodeId>, StoreError> {
        let came = Instant::now();
        loop {
            let Answer { asked, until, live } = self.answer().await;
            for lease in live?.iter() {
                nodes.remove(&lease.node);
            }
            if nodes.is_empty() || asked >= came {
                return Ok(nodes);
            }
            sleep_until(until).await;
        }
    }

    #[expect(
        clippy::await_holding_invalid_type,
        reason = "a store that does not answer costs each caller its own time"
    )]
    async fn answer(&self) -> Answer {
        let mut last = self.last.lock().await;
        if let Some(answer) = last.as_ref().filter(|answer| Instant::now() < answer.until) {
            return answer.clone();
        }
        let asked = Instant::now();
        let live = self.store.live().await.map(Arc::<[LeaseName]>::from);
        let answer = Answer { asked, until: Instant::now() + SHARED_FOR, live };
        *last = Some(answer.clone());
        answer
    }
}
