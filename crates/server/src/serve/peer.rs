//! The other end of a transport.

use std::net::IpAddr;
use std::sync::Arc;

use protomcp_fair::Owner;
use protomcp_session::{CallerKey, Conversation, SessionId};
use protomcp_transport::Transport;

/// The sender of requests, as far as the transport knows it.
#[derive(Debug, Clone)]
pub struct Peer {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) owner: Owner,
    pub(super) connection: Option<u64>,
}

impl Peer {
    /// A peer with this principal, if it is authenticated, at this address. `connection` is the number of its connection,
    /// by which requests without a session take turns; unique in this process.
    #[must_use]
    pub fn new(principal: Option<Arc<str>>, address: Option<IpAddr>, connection: Option<u64>) -> Self {
        let owner = Owner::of(principal.clone(), address);
        Self { principal, owner, connection }
    }

    pub(crate) fn of(transport: &impl Transport) -> Self {
        Self::new(transport.principal(), transport.address(), transport.connection())
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
