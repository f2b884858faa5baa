//! From whom requests come, as far as that is known.

use std::sync::Arc;

use crate::session::SessionId;
use crate::transport::Transport;

/// The sender of a request. What is to be shared fairly is shared between senders, whoever sends more. It proves nothing: a
/// stranger may open as many connections as the listener allows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A session, or a connection that is served as one.
    Session(SessionId),
    /// A request without a session, from whom the transport has made sure that it comes ([`Transport::principal`]).
    Principal(Arc<str>),
    /// A request without a session, by the number of its connection ([`Transport::connection`]).
    Connection(u64),
}

/// What a transport knows of the other end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peer {
    pub(crate) principal: Option<Arc<str>>,
    connection: Option<u64>,
}

impl Peer {
    pub(crate) fn of(transport: &impl Transport) -> Self {
        Self { principal: transport.principal(), connection: transport.connection() }
    }

    /// The sender of a request without a session that came while this one was served.
    pub(crate) fn sender(&self, session: SessionId) -> Sender {
        match (&self.principal, self.connection) {
            (Some(principal), _) => Sender::Principal(Arc::clone(principal)),
            (None, Some(connection)) => Sender::Connection(connection),
            (None, None) => Sender::Session(session),
        }
    }
}
