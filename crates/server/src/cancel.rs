//! Cancelling a call without knowing what else it is.

use std::fmt;

/// A call that can be cancelled. What looks after calls holds this instead of their contexts.
pub(crate) trait Cancel: fmt::Debug + Send + Sync {
    /// Cancels the call.
    fn cancel(&self);
}
