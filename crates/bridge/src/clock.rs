//! The time of the runtime, which tests can pause.

use std::time::{Duration, Instant};

/// For a request whose time is bounded elsewhere: longer than any process.
pub(crate) const NO_LIMIT: Duration = Duration::from_secs(365 * 86_400);

/// The present moment.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
