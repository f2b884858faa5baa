//! The time of the runtime, which tests can stop.

use std::time::{Duration, Instant};

/// The longest time from now on: a year. Later times may be out of the range of `Instant`.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The time of the runtime, which tests can stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
