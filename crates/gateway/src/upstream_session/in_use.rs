//! The requests that use a session, from the moment at which they have found it. A session in use neither rests nor gives
//! way to another one.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::reach::now;
use crate::upstream_session::{UpstreamSession, lock};

/// A session that a request uses until it is dropped. The one that takes its place counts as used as well.
#[derive(Debug)]
pub(crate) struct InUse(Arc<UpstreamSession>);

impl InUse {
    pub(crate) fn new(session: Arc<UpstreamSession>) -> Self {
        session.memory.users.fetch_add(1, Ordering::SeqCst);
        session.memory.was_used.store(true, Ordering::SeqCst);
        Self(session)
    }
}

impl Deref for InUse {
    type Target = Arc<UpstreamSession>;

    fn deref(&self) -> &Arc<UpstreamSession> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *lock(&self.0.newest().used) = now();
        self.0.memory.users.fetch_sub(1, Ordering::SeqCst);
    }
}

impl UpstreamSession {
    /// True if a request has ever used the session, or one whose place it has taken.
    pub(crate) fn was_used(&self) -> bool {
        self.memory.was_used.load(Ordering::SeqCst)
    }

    /// The time for which nothing has needed the session; `None` if something does.
    pub(crate) fn idle_time(&self) -> Option<Duration> {
        let is_used = self.memory.users.load(Ordering::SeqCst) > 0;
        let is_idle = !is_used && self.running.is_empty() && lock(&self.memory.holders).is_empty();
        is_idle.then(|| now().saturating_duration_since(*lock(&self.used)))
    }
}
