//! Keeps a request listening to resources.

use std::fmt;

/// Keeps a request listening to resources until it is dropped.
pub(crate) struct ListenGuard {
    _until_drop: Box<dyn Send>,
}

impl ListenGuard {
    pub(crate) fn new(until_drop: impl Send + 'static) -> Self {
        Self { _until_drop: Box::new(until_drop) }
    }
}

impl fmt::Debug for ListenGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenGuard").finish_non_exhaustive()
    }
}
