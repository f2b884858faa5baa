//! The client of a session, and a session as observers see it.

use std::sync::Arc;

use protomcp_types::{ClientCapabilities, Implementation, ProtocolVersion};

use crate::session_id::SessionId;
use protomcp_fair::Owner;

/// The client at the other end, and the negotiated revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// The negotiated revision, or the one that a stateless request names.
    pub version: ProtocolVersion,
    /// The name and version of the client.
    pub implementation: Implementation,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
}

/// A session as an observer or service sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The id of the session.
    pub id: SessionId,
    /// The owner that its requests count for.
    pub owner: Owner,
    /// The client.
    pub client: Arc<ClientInfo>,
}
