//! The server that a handler of the client works for.

use std::sync::Arc;

use protomcp_session::ServerView;
use tokio::sync::mpsc;

use crate::command::Command;
use crate::session::ClientSession;
use crate::shared::Shared;

/// The origin of a request or notification. It does not keep the connection open.
#[derive(Debug, Clone)]
pub struct ServerContext {
    shared: Arc<Shared>,
    commands: mpsc::WeakUnboundedSender<Command>,
}

impl ServerContext {
    pub(crate) fn new(shared: Arc<Shared>, commands: mpsc::WeakUnboundedSender<Command>) -> Self {
        Self { shared, commands }
    }

    /// Tells the sessions of one client apart.
    #[must_use]
    pub fn session_id(&self) -> u64 {
        self.shared.id
    }

    /// The server, as it has described itself; `None` while the connection opens.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerView>> {
        self.shared.server()
    }

    /// The session, for requests to the server; `None` if its last handle is gone.
    #[must_use]
    pub fn session(&self) -> Option<ClientSession> {
        Some(ClientSession::new(Arc::clone(&self.shared), self.commands.upgrade()?))
    }
}
