//! The id of a session.

use std::fmt;

/// Identifies a session within its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u64);

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
