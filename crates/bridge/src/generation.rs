//! Names the lives of the tool process.

use std::fmt;

/// One life of the tool process: 1, 2, 3 … one more for each process that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Generation(u64);

impl Generation {
    /// The process the bridge starts with.
    pub(crate) const FIRST: Self = Self(1);

    /// The one after this.
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {}", self.0)
    }
}
