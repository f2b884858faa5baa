//! The sessions that clients share: one, and another for the clients of the other era with a server that has both.

use std::sync::Arc;
use std::time::Duration;

use protomcp_client::ServerView;

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
        let mut shared = lock(&self.shared);
        if !may_have_both(&shared.main, era) {
            return Arc::clone(&shared.main);
        }
        let other = shared.other.get_or_insert_with(|| self.in_other_era(era));
        let is_missing = other.found().is_some_and(|found| found != era);
        Arc::clone(if is_missing { &shared.main } else { other })
    }

    fn in_other_era(&self, era: Era) -> Arc<UpstreamSession> {
        let (reach, environment) = (Arc::clone(&self.reach), Arc::clone(&self.environment));
        UpstreamSession::new(reach, Users::OtherEra(era), environment, &self.gateway, Memory::default())
    }

    /// The description that a server gives of itself to clients of the other era, if it has both.
    pub(crate) async fn view_in_other_era(&self) -> Option<Arc<ServerView>> {
        let main = self.shared();
        let era = main.era.other();
        if !may_have_both(&main, era) {
            return None;
        }
        if self.reach.upstream.is_shared() {
            let other = self.shared_in(era);
            let view = other.session().await.ok()?.server();
            if other.found() != Some(era) {
                other.rest(Duration::ZERO).await;
            }
            return Some(view);
        }
        let session = self.in_other_era(era);
        let view = session.session().await.map(|open| open.server());
        session.close().await;
        view.ok()
    }

    /// Ends the shared sessions that nothing has needed for so long. Those of a command that all clients share stay, because
    /// they are its state, but for one that no client has used beside the other, or that is not of its era.
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
        let is_missing = other.found().is_some_and(|found| found != other.era);
        if is_missing || !other.was_used() {
            other.rest(limit).await;
        }
        if !is_missing && other.was_used() && !main.was_used() {
            main.rest(limit).await;
        }
    }
}

/// True if a server that was spoken to in one era may have this one, too: it was spoken to in the one that was tried first.
fn may_have_both(main: &UpstreamSession, era: Era) -> bool {
    let is_free = main.era.first(main.reach.upstream.eras()) != main.era.other().first(main.reach.upstream.eras());
    is_free && era != main.era && main.found() == Some(main.era)
}
