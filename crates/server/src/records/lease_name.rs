//! The name of one lease of a process.

use std::fmt;

use crate::records::node::NodeId;

/// Identifies a lease of a process ([`LeaseStore`](crate::LeaseStore)). A process that has lost its lease gets another
/// one with a larger number, because a name is used once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseName {
    /// The process.
    pub node: NodeId,
    /// The number of the lease among the leases of the process, from 1.
    pub number: u64,
}

impl LeaseName {
    /// The first lease of a process.
    #[must_use]
    pub fn first(node: NodeId) -> Self {
        Self { node, number: 1 }
    }

    /// The lease after this one.
    #[must_use]
    pub fn successor(&self) -> Self {
        Self { node: self.node.clone(), number: self.number + 1 }
    }
}

/// The name of the process, a full stop and the number.
impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.number)
    }
}
