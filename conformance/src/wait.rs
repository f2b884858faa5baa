//! Waiting for what must happen, with one deadline for all.

use std::thread;
use std::time::{Duration, Instant};

/// The time limit before a test fails: 20 s, or `PMCP_PATIENCE` seconds.
pub fn patience() -> Duration {
    let seconds = std::env::var("PMCP_PATIENCE").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    Duration::from_secs(seconds)
}

/// `short`, or `long` when `PMCP_LONG=1` asks for the long tier.
pub fn tier<T>(short: T, long: T) -> T {
    if std::env::var("PMCP_LONG").is_ok_and(|value| value == "1") { long } else { short }
}

/// Polls until there is a value.
///
/// # Panics
///
/// After [`patience`], naming `what`.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {:?} for {what}", patience());
        thread::sleep(Duration::from_millis(5));
    }
}

/// The median of the times, which are sorted for it. A busy machine slows some measurements down, but not most of them.
///
/// # Panics
///
/// If there are none.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
