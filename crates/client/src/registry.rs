//! The sessions and roots that all clones of a client share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_types::{Params, method};
use tokio::sync::mpsc::WeakUnboundedSender;

use crate::command::Command;
use crate::roots::Roots;

/// The sessions and roots of a client.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) roots: Roots,
    sessions: Mutex<HashMap<u64, WeakUnboundedSender<Command>>>,
    last: AtomicU64,
}

impl Registry {
    /// Enters a session. Sessions count from 1.
    pub(crate) fn enter(&self, commands: WeakUnboundedSender<Command>) -> u64 {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.sessions().insert(id, commands);
        id
    }

    pub(crate) fn leave(&self, id: u64) {
        self.sessions().remove(&id);
    }

    /// Tells all sessions that the roots have changed.
    pub(crate) fn roots_changed(&self) {
        for session in self.sessions().values().filter_map(WeakUnboundedSender::upgrade) {
            // A session at its end needs no news.
            drop(session.send(Command::Notify(method::ROOTS_CHANGED, Params::Absent)));
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<u64, WeakUnboundedSender<Command>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
