//! Waiting for what must happen, with one deadline for all.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails: 20 s, or `PMCP_PATIENCE` seconds.
pub fn patience() -> Duration {
    let seconds = std::env::var("PMCP_PATIENCE").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    Duration::from_secs(seconds)
}

/// `short`, or `long` when `PMCP_LONG=1` asks for the long tier.
pub fn tier<T>(short: T, long: T) -> T {
    if std::env::var("PMCP_LONG").is_ok_and(|value| value == "1") { long } else { short }
}

/// Looks again and again until there is something to see.
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
        assert!(Instant::now() < deadline, "waited {:?} in vain for {what}", patience());
        thread::sleep(Duration::from_millis(5));
    }
}

/// The middle one of some times, which are sorted for it. A busy machine slows down some, but not most of them.
///
/// # Panics
///
/// When there are none.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
