//! The number of each start of the tool process.

use std::fmt;

/// One start of the tool process: 1, 2, 3 …
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Generation(u64);

impl Generation {
    /// The first process of the bridge.
    pub(crate) const FIRST: Self = Self(1);

    /// The next process.
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
