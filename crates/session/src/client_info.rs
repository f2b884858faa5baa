//! The client of a session, and the id of the session.

use std::fmt;
use std::sync::Arc;

use protomcp_types::{ClientCapabilities, Implementation, ProtocolVersion};

use protomcp_fair::Owner;

/// Identifies a session within its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u64);

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

impl SessionId {
    /// The session of a call without a client behind it, as in tests of services.
    pub const DETACHED: Self = Self(0);

    /// The id for stateless requests, which have no session. It is never open, no message can be sent to it, and state
    /// kept under it would be shared by all clients.
    pub const STATELESS: Self = Self(u64::MAX);

    /// The session with this number; a server counts from 1.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
