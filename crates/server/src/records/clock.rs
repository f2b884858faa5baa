//! The time of the runtime, which tests can stop.

use std::time::Instant;

/// The time of the runtime, which tests can stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
