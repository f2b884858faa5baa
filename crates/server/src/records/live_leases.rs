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

/// The time after which a process that is not among the leases has ended, when this process has lost its own lease: the
/// store was away for both, and the other one has not registered again.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

/// Looks up the leases that run: one lookup at a time, and one in a second.
#[derive(Debug)]
pub(crate) struct LiveLeases {
    store: Arc<dyn LeaseStore>,
    /// This process.
    node: NodeId,
    /// The last answer. It is locked during a lookup, and those who want it wait.
    last: Mutex<Option<Answer>>,
}

#[derive(Debug, Clone)]
struct Answer {
    /// The time at which the store was asked.
    asked: Instant,
    /// The time until which the answer is shared.
    until: Instant,
    /// The number of the lease of this process.
    own: Option<u64>,
    /// The time from which a process without a lease has ended.
    settled_at: Instant,
    live: Result<Arc<[LeaseName]>, StoreError>,
}

impl LiveLeases {
    pub(crate) fn new(store: Arc<dyn LeaseStore>, node: NodeId) -> Self {
        Self { store, node, last: Mutex::new(None) }
    }

    /// The lease of the process for which this is true; `None`: none had a lease after this call. A process with a lease
    /// may have lost it within the last second.
    pub(crate) async fn find(&self, is_wanted: impl Fn(&NodeId) -> bool) -> Result<Option<LeaseName>, StoreError> {
        let came = Instant::now();
        loop {
            let Answer { asked, until, settled_at, live, .. } = self.answer().await;
            let found = live?.iter().find(|lease| is_wanted(&lease.node)).cloned();
            if found.is_some() {
                return Ok(found);
            }
            if asked >= came {
                return if asked < settled_at { Err(StoreError::Unavailable) } else { Ok(None) };
            }
            // The process may have begun since then.
            sleep_until(until).await;
        }
    }

    /// The ones among these processes that had no lease after this call: they have ended.
    pub(crate) async fn gone(&self, mut nodes: HashSet<NodeId>) -> Result<HashSet<NodeId>, StoreError> {
        let came = Instant::now();
        loop {
            let Answer { asked, until, settled_at, live, .. } = self.answer().await;
            for lease in live?.iter() {
                nodes.remove(&lease.node);
            }
            if nodes.is_empty() {
                return Ok(nodes);
            }
            if asked >= came {
                return if asked < settled_at { Err(StoreError::Unavailable) } else { Ok(nodes) };
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
        let before = last.as_ref().map(|answer| (answer.own, answer.settled_at));
        let (own, settled_at) = match &live {
            Ok(live) => {
                let own = live.iter().filter(|lease| lease.node == self.node).map(|lease| lease.number).max();
                (own, settled(asked, own, before))
            }
            Err(_) => before.unwrap_or((None, asked)),
        };
        let answer = Answer { asked, until: Instant::now() + SHARED_FOR, own, settled_at, live };
        *last = Some(answer.clone());
        answer
    }
}

/// The time from which a process without a lease has ended. `own`: the number of the lease of this process; `before`: both
/// at the last answer.
fn settled(now: Instant, own: Option<u64>, before: Option<(Option<u64>, Instant)>) -> Instant {
    match before {
        Some((known, settled_at)) if known == own || known.is_none() => settled_at,
        // A process that has lost no lease has the first one.
        None if own.is_none_or(|number| number == 1) => now,
        Some(_) | None => now + SETTLED_AFTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_loss_of_the_own_lease_others_have_time_to_come_back() {
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(60));
        let waits = later + SETTLED_AFTER;
        for (own, before, expected) in [
            (None, None, later),
            (Some(1), None, later),
            (Some(2), None, waits),
            (Some(1), Some((Some(1), now)), now),
            (None, Some((None, now)), now),
            (Some(1), Some((None, now)), now),
            (None, Some((Some(1), now)), waits),
            (Some(2), Some((Some(1), now)), waits),
        ] {
            assert_eq!(settled(later, own, before), expected, "{own:?}, {before:?}");
        }
    }
}
