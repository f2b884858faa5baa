//! The holders of sessions that other processes serve, so that the store is not asked for each request of a session.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_server::LeaseName;
use tokio::time::Instant;

/// The most sessions whose holders are remembered.
pub(crate) const MAX_HOLDERS: usize = 65_536;

/// The time for which a holder is remembered. Another process may take the session over earlier: the holder that was
/// remembered says so, or is not reached, and is forgotten.
pub(crate) const REMEMBERED_FOR: Duration = Duration::from_secs(1);

/// Holders by the keys of their sessions, as the store has named them.
#[derive(Debug, Default)]
pub(crate) struct KnownHolders(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    holders: HashMap<Box<str>, Holder>,
    /// The time at which the old ones were forgotten.
    swept: Option<Instant>,
}

#[derive(Debug)]
struct Holder {
    lease: LeaseName,
    until: Instant,
}

impl KnownHolders {
    /// The holder of a session, if it is remembered.
    pub(crate) fn find(&self, session: &str, now: Instant) -> Option<LeaseName> {
        self.known().holders.get(session).filter(|holder| now < holder.until).map(|holder| holder.lease.clone())
    }

    /// The store has named the holder of a session. Without room it is not remembered.
    pub(crate) fn note(&self, session: &str, lease: &LeaseName, now: Instant) {
        let mut known = self.known();
        if known.swept.is_none_or(|swept| now >= swept + REMEMBERED_FOR) {
            known.holders.retain(|_, holder| now < holder.until);
            known.swept = Some(now);
        }
        if known.holders.len() < MAX_HOLDERS {
            known.holders.insert(session.into(), Holder { lease: lease.clone(), until: now + REMEMBERED_FOR });
        }
    }

    /// The session has another holder, or none.
    pub(crate) fn forget(&self, session: &str) {
        self.known().holders.remove(session);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_server::NodeId;

    use super::*;

    #[test]
    fn a_holder_is_remembered_for_a_moment() {
        let (holders, start) = (KnownHolders::default(), Instant::now());
        let (a, b) = (LeaseName::first(NodeId::new("a")), LeaseName::first(NodeId::new("b")));
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        holders.note("s", &a, at(0));
        holders.note("t", &b, at(500));
        for (session, when, expected) in
            [("s", 999, Some(&a)), ("s", 1_000, None), ("t", 1_499, Some(&b)), ("t", 1_500, None), ("u", 0, None)]
        {
            assert_eq!(holders.find(session, at(when)).as_ref(), expected, "{session} {when}");
        }
        holders.forget("t");
        assert_eq!(holders.find("t", at(500)), None);
        holders.note("u", &a, at(1_000));
        assert_eq!(holders.known().holders.len(), 1, "the old one is forgotten");
    }

    #[test]
    fn the_number_of_holders_is_bounded() {
        let (holders, start, a) = (KnownHolders::default(), Instant::now(), LeaseName::first(NodeId::new("a")));
        for session in 0..=MAX_HOLDERS {
            holders.note(&session.to_string(), &a, start);
        }
        assert_eq!(holders.find(&MAX_HOLDERS.to_string(), start), None);
        assert_eq!(holders.find("0", start), Some(a.clone()));
        let later = start + REMEMBERED_FOR;
        holders.note("new", &a, later);
        assert_eq!((holders.find("new", later), holders.known().holders.len()), (Some(a), 1));
    }
}
