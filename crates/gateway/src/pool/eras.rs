//! The sessions that clients share: one, and another for the clients of the other era with a server that has both.

use std::sync::Arc;
use std::time::Duration;

use crate::era::Era;
use crate::known::Memory;
use crate::pool::{Pool, lock};
use crate::upstream_session::{UpstreamSession, Users};

/// The sessions that clients share.
#[derive(Debug)]
pub(super) struct SharedSessions {
    pub(super) main: Arc<UpstreamSession>,
    /// In the other era. It may turn out that the server does not have it.
    pub(super) other: Option<Arc<UpstreamSession>>,
}

impl SharedSessions {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<UpstreamSession>> {
        [&self.main].into_iter().chain(&self.other)
    }
}

impl Pool {
    /// The session that all clients share, or the one of an era, if there are two of them.
    pub(crate) fn shared(&self) -> Arc<UpstreamSession> {
        Arc::clone(&lock(&self.shared).main)
    }

    /// The session that clients of this era share.
    pub(crate) fn shared_in(&self, era: Era) -> Arc<UpstreamSession> {
        let shared = &mut *lock(&self.shared);
        let main = &shared.main;
        if !may_have_both(main, era) {
            return Arc::clone(main);
        }
        let other = shared.other.get_or_insert_with(|| self.in_other_era(era, main));
        Arc::clone(if other.is_missing() { main } else { other })
    }

    fn in_other_era(&self, era: Era, main: &Arc<UpstreamSession>) -> Arc<UpstreamSession> {
        let (reach, environment) = (Arc::clone(&self.reach), Arc::clone(&self.environment));
        let users = Users::OtherEra(era, Arc::clone(main));
        UpstreamSession::new(reach, users, environment, &self.gateway, Memory::default())
    }

    /// Ends the shared sessions that nothing has needed for this long. The sessions of a command that all clients share
    /// stay, because they are its state, but for one that no client has used in addition to the other, or that is not
    /// of its era.
    pub(super) async fn rest_shared(&self, limit: Duration) {
        let (main, other) = {
            let shared = lock(&self.shared);
            (Arc::clone(&shared.main), shared.other.clone())
        };
        if !self.reach.upstream.is_shared() {
            for session in [main].into_iter().chain(other) {
                session.rest(limit).await;
            }
            return;
        }
        let Some(other) = other else { return };
        // Each is the state of its clients, but for one that serves none.
        if other.is_missing() || !other.was_used() {
            other.rest(if other.is_missing() { Duration::ZERO } else { limit }).await;
        } else if !main.was_used() {
            main.rest(limit).await;
        }
    }
}

/// True if a server that was spoken to in one era may have this one, too: it was spoken to in the one that was tried first.
fn may_have_both(main: &UpstreamSession, era: Era) -> bool {
    let is_free = main.era().first(main.reach.upstream.eras()) != main.era().other().first(main.reach.upstream.eras());
    is_free && era != main.era() && main.found() == Some(main.era())
}
