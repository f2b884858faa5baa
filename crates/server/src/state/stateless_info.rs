//! The description of a server for clients without a session.

use std::sync::Arc;

use protomcp_session::ServerInfo;

use crate::state::handle::ServerHandle;

impl ServerHandle {
    /// The description that the server gives of itself to clients without a session (MCP 2026-07-28).
    #[must_use]
    pub fn stateless_info(&self) -> Arc<ServerInfo> {
        Arc::clone(self.0.descriptions.stateless().info())
    }

    /// Replaces the description for clients without a session, which is [`ServerHandle::info`] until then. Open
    /// connections and requests keep the one that they began with.
    pub fn describe_stateless(&self, info: ServerInfo) {
        self.0.descriptions.replace_stateless(info);
    }
}
