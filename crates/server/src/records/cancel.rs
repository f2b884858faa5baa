//! Cancels a call of any type.

use std::fmt;

/// A call that can be cancelled. Types that only cancel calls hold this instead of their contexts.
pub(crate) trait Cancel: fmt::Debug + Send + Sync {
    /// Cancels the call.
    fn cancel(&self);
}
