//! The name of one process among those that serve the same clients.

use std::fmt;
use std::sync::Arc;

/// Identifies one process among those that share the stores of a server ([`Stores`](crate::Stores)).
///
/// Ids of sessions are numbers of one process: with the node they are unique. A name is used by one start of one
/// process, so it needs a part that a restart changes, such as the time of the start.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// The node with this name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
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
