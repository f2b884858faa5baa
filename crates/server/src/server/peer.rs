//! The other end of a transport.

use std::sync::Arc;

use protomcp_session::{CallerKey, Conversation, Owner, SessionId};
use protomcp_transport::Transport;

/// The other end of a transport.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) owner: Owner,
    connection: Option<u64>,
}

impl Peer {
    pub(crate) fn of(transport: &impl Transport) -> Self {
        let principal = transport.principal();
        let owner = Owner::of(principal.clone(), transport.address());
        Self { principal, owner, connection: transport.connection() }
    }

    /// The caller of a request that belongs to this session.
    pub(crate) fn in_session(&self, session: SessionId) -> CallerKey {
        CallerKey { owner: self.owner.clone(), conversation: Conversation::Session(session) }
    }

    /// The caller of a request without a session that came while this one was served.
    pub(crate) fn without_session(&self, session: SessionId) -> CallerKey {
        let conversation = self.connection.map_or(Conversation::Session(session), Conversation::Connection);
        CallerKey { owner: self.owner.clone(), conversation }
    }
}
