//! The sessions that this process serves, so that they live on in the store.
//!
//! A store forgets a session without a holder after a while: its keys expire. The holder puts that off from time to
//! time, as long as its lease runs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_server::{FencingToken, LeaseName};

use crate::keys::SessionName;

/// Sessions by the lease with which they are held. The server limits them.
#[derive(Debug, Default)]
pub(crate) struct HeldSessions(Mutex<HashMap<LeaseName, HashMap<SessionName, FencingToken>>>);

/// A session with its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldSession {
    pub(crate) session: SessionName,
    pub(crate) lease: LeaseName,
    pub(crate) token: FencingToken,
}

impl HeldSessions {
    /// A lease has begun. The earlier ones of its process are over.
    pub(crate) fn began(&self, lease: &LeaseName) {
        let mut leases = self.leases();
        leases.retain(|other, _| other.node != lease.node);
        leases.insert(lease.clone(), HashMap::new());
    }

    /// A lease is over.
    pub(crate) fn ended(&self, lease: &LeaseName) {
        self.leases().remove(lease);
    }

    /// A session was granted.
    pub(crate) fn granted(&self, held: HeldSession) {
        if let Some(sessions) = self.leases().get_mut(&held.lease) {
            sessions.insert(held.session, held.token);
        }
    }

    /// A session has another holder, or none.
    pub(crate) fn lost(&self, session: &SessionName, token: FencingToken) {
        for sessions in self.leases().values_mut() {
            if sessions.get(session) == Some(&token) {
                sessions.remove(session);
            }
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<HeldSession> {
        let leases = self.leases();
        let held = leases.iter().flat_map(|(lease, sessions)| {
            sessions.iter().map(|(session, token)| HeldSession {
                session: session.clone(),
                lease: lease.clone(),
                token: *token,
            })
        });
        held.collect()
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<LeaseName, HashMap<SessionName, FencingToken>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_server::NodeId;

    use super::*;

    fn lease(node: &str) -> LeaseName {
        LeaseName::first(NodeId::new(node))
    }

    fn held(session: &str, lease: &LeaseName, token: u64) -> HeldSession {
        HeldSession { session: SessionName::of(session), lease: lease.clone(), token: FencingToken::new(token) }
    }

    #[test]
    fn sessions_are_held_while_their_lease_runs() {
        let (sessions, a, b) = (HeldSessions::default(), lease("a"), lease("b"));
        sessions.granted(held("early", &a, 1));
        assert!(sessions.all().is_empty(), "the lease has not begun");
        sessions.began(&a);
        sessions.began(&b);
        sessions.granted(held("s", &a, 1));
        sessions.granted(held("t", &b, 1));
        assert_eq!(sessions.all().len(), 2);
        sessions.ended(&b);
        assert_eq!(sessions.all(), [held("s", &a, 1)]);
        sessions.began(&a.successor());
        assert!(sessions.all().is_empty(), "the earlier lease of the process is over");
    }

    #[test]
    fn a_session_is_lost_with_its_token() {
        let (sessions, a) = (HeldSessions::default(), lease("a"));
        sessions.began(&a);
        sessions.granted(held("s", &a, 1));
        sessions.granted(held("s", &a, 2));
        sessions.lost(&SessionName::of("s"), FencingToken::new(1));
        assert_eq!(sessions.all(), [held("s", &a, 2)]);
        sessions.lost(&SessionName::of("s"), FencingToken::new(2));
        assert!(sessions.all().is_empty());
    }
}
