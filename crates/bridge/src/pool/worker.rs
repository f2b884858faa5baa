//! One tool process of a bridge, with its restarts and reloads, as the requests of clients see it.

use std::sync::Arc;

use protomcp_server::SessionId;
use protomcp_types::ErrorObject;
use tokio::sync::{SetOnce, mpsc};

use crate::call::Calls;
use crate::catalog::published::Published;
use crate::catalog::tool::Tool;

/// The parts that every request uses.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) snapshot: Arc<Published>,
    pub(crate) calls: Arc<Calls>,
    /// Set when the first start has ended: clients are served from the beginning, and wait here for the tools.
    pub(crate) started: Arc<SetOnce<Result<(), String>>>,
    /// Notified of each session that has ended.
    pub(crate) ended: mpsc::UnboundedSender<SessionId>,
}

impl Worker {
    /// Waits for the first list.
    pub(crate) async fn started(&self) -> Result<(), ErrorObject> {
        let outcome = match self.started.get() {
            Some(outcome) => outcome,
            None => self.started.wait().await,
        };
        outcome.as_ref().map_err(|why| ErrorObject::internal(why.clone())).copied()
    }

    /// The tool as this session sees it: a hidden tool does not exist.
    pub(crate) fn find(&self, name: &str, session: SessionId) -> Result<Arc<Tool>, ErrorObject> {
        let snapshot = self.snapshot.load();
        snapshot.view(session).find(name).cloned().ok_or_else(|| ErrorObject::unknown_tool(name))
    }
}
