//! The server at the other end of a client's connection.

use protomcp_types::{Implementation, ProtocolVersion, ServerCapabilities};

/// The server as it has described itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// The revision of the connection.
    pub version: ProtocolVersion,
    /// The name and version of the server. A stateless server may keep them to itself.
    pub implementation: Option<Implementation>,
    /// The capabilities of the server; `None`: it has not answered `server/discover`.
    pub capabilities: Option<ServerCapabilities>,
    /// Instructions for the model.
    pub instructions: Option<String>,
}

impl ServerView {
    /// True if the connection has a session that a handshake has opened.
    #[must_use]
    pub fn is_stateful(&self) -> bool {
        self.version.is_stateful()
    }
}
