//! The descriptions that a server gives of itself: one to clients with a session, and one to clients without.

use std::sync::{Arc, PoisonError, RwLock};

use protomcp_session::{ServerInfo, Stateless};

/// The descriptions of a server.
#[derive(Debug)]
pub(super) struct Descriptions {
    stateful: Arc<ServerInfo>,
    stateless: RwLock<Arc<Stateless>>,
}

impl Descriptions {
    /// The same description for all clients.
    pub(super) fn new(info: ServerInfo) -> Self {
        let stateful = Arc::new(info);
        let stateless = RwLock::new(Arc::new(Stateless::new(Arc::clone(&stateful))));
        Self { stateful, stateless }
    }

    pub(super) fn stateful(&self) -> &Arc<ServerInfo> {
        &self.stateful
    }

    pub(super) fn stateless(&self) -> Arc<Stateless> {
        Arc::clone(&self.stateless.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace_stateless(&self, info: ServerInfo) {
        *self.stateless.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Stateless::new(Arc::new(info)));
    }
}
