//! The callers of requests.
//!
//! Queues, sessions, parked calls and bytes are shared by [`Owner`]: a caller who holds little is never refused because
//! another holds much, however many connections or sessions the other opens. Within one owner, conversations take
//! turns.

use protomcp_fair::Owner;

use crate::session_id::SessionId;

/// Identifies the caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallerKey {
    /// The owner that the request counts for.
    pub owner: Owner,
    /// The conversation that the request is part of.
    pub conversation: Conversation,
}

/// The conversation that a request is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conversation {
    /// A session, or a connection that is served as one.
    Session(SessionId),
    /// A connection that carries requests without a session, by its number.
    Connection(u64),
}
