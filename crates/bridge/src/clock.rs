//! The time of the runtime, which tests can pause.

use std::time::Instant;

/// The present moment.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
