//! The answer to a process that wants to serve a session.

use std::fmt;

use crate::records::lease_name::LeaseName;
use crate::records::session_snapshot::SessionSnapshot;

/// The number of one holder of a session: each new holder has a larger one.
///
/// A process that has lost a session may not know it yet. The store refuses what it writes, because its number is not
/// the latest one (a fencing token).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FencingToken(u64);

impl FencingToken {
    /// The token of the first holder of a session.
    pub const FIRST: Self = Self(1);

    /// The token with this number, as a store has written it.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// The token of the next holder.
    #[must_use]
    pub fn successor(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The answer to a claim of a session ([`LeaseStore`](crate::LeaseStore)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The process that has asked holds the session, as long as its lease runs.
    /// The snapshot is the last one that a holder has saved; `None`: there is none, so no client knows the session yet.
    Granted(FencingToken, Option<Box<SessionSnapshot>>),
    /// The process with this lease holds the session, and the lease runs.
    Held(LeaseName),
    /// No such session is open.
    Unknown,
    /// The lease of the process that has asked does not run: it registers again before it claims a session.
    LeaseOver,
    /// The store has no room for another session.
    Full,
}
