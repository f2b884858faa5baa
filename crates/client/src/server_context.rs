//! The server that a handler of the client works for.

use std::sync::Arc;

use protomcp_session::ServerView;
use protomcp_types::{Params, Progress, ProgressToken};
use tokio::sync::mpsc;

use crate::command::Command;
use crate::shared::Shared;

/// The origin of a request or notification. It does not keep the connection open.
#[derive(Debug, Clone)]
pub struct ServerContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: mpsc::WeakUnboundedSender<Command>,
    /// The server wants progress of its request under this token.
    token: Option<ProgressToken>,
}

impl ServerContext {
    pub(crate) fn new(shared: Arc<Shared>, commands: mpsc::WeakUnboundedSender<Command>) -> Self {
        Self { shared, commands, token: None }
    }

    /// For the handler of a request with these parameters.
    pub(crate) fn of_request(&self, params: &Params) -> Self {
        let token = params.member("_meta").and_then(protomcp_types::meta::progress_token);
        Self { token, ..self.clone() }
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

    /// Reports the progress of the answer, if the server has asked for it. Without a session there are no such reports.
    pub fn progress(&self, progress: &Progress) {
        let (Some(token), Some(commands), Some(server)) = (&self.token, self.commands.upgrade(), self.server()) else {
            return;
        };
        if let Some(notification) = progress.to_notification(token, server.version) {
            // A connection at its end needs no reports.
            drop(commands.send(Command::Notify(protomcp_types::method::PROGRESS, notification.params)));
        }
    }
}
