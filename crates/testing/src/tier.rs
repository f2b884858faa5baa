//! The short and the long tier of tests, and the limits of figures.

use std::time::Duration;

use crate::patience::patience;

/// `short`, or `long` when `PMCP_LONG=1` asks for the long tier.
pub fn tier<T>(short: T, long: T) -> T {
    if std::env::var("PMCP_LONG").is_ok_and(|value| value == "1") { long } else { short }
}

/// The limit of a figure, such as the median of many answers: `limit` in the long tier. In the short tier other
/// programs run concurrently with the test and lengthen the times, so that each answer has the time of [`patience`].
pub fn judged(limit: Duration) -> Duration {
    tier(patience(), limit)
}
