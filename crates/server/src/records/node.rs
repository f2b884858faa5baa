//! The name of one process among those that serve the same clients.

use std::fmt;
use std::sync::Arc;

/// Identifies one process among those that share the stores of a server ([`Stores`](crate::Stores)).
///
/// Ids of sessions are numbers of one process: with the node they are unique. A name is used by one start of one
/// process, so it needs a part that a restart changes, such as the time of the start. Clients can read it in refusals
/// (`WRONG_PROCESS`, 503): it should say nothing about the machine, as [`NodeId::random`] does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// The node with this name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// A name that no other process has, and no other start of this one.
    ///
    /// # Panics
    /// When the system has no random numbers.
    #[must_use]
    pub fn random() -> Self {
        let mut name = [0; 16];
        getrandom::fill(&mut name).expect("the system has random numbers");
        Self::new(format!("{:032x}", u128::from_be_bytes(name)))
    }

    /// A name that begins with this one, and that no other process has, and no other start of this one.
    ///
    /// # Panics
    /// When the system has no random numbers.
    #[must_use]
    pub fn random_after(name: &str) -> Self {
        Self::new(format!("{name}-{}", Self::random()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a process that shares nothing.
impl Default for NodeId {
    fn default() -> Self {
        Self::new("local")
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
