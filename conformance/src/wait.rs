//! Waiting for what must happen, with one deadline for all, and the limits of figures.

use std::thread;
use std::time::{Duration, Instant};

/// The time limit of every wait for an event: 120 s, or `PMCP_PATIENCE` seconds. Only a test that fails takes so long, so
/// that a busy machine is not a failure.
pub fn patience() -> Duration {
    let seconds = std::env::var("PMCP_PATIENCE").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
    Duration::from_secs(seconds)
}

/// `short`, or `long` when `PMCP_LONG=1` asks for the long tier.
pub fn tier<T>(short: T, long: T) -> T {
    if std::env::var("PMCP_LONG").is_ok_and(|value| value == "1") { long } else { short }
}

/// The limit of a figure, such as the median of many answers: `limit` in the long tier. In the short tier other programs
/// run beside the test and lengthen the times, so that each answer has the time of [`patience`].
pub fn judged(limit: Duration) -> Duration {
    tier(patience(), limit)
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

/// Prints a time that the product promises something about, and judges it in the long tier.
///
/// # Panics
///
/// If it has reached the limit that [`judged`] makes of this one.
#[expect(clippy::print_stdout, reason = "figures are printed in each tier, and judged in one")]
pub fn judge(what: &str, took: Duration, limit: Duration) {
    println!("{what}: {took:?}, of {limit:?} in the long tier");
    assert!(took < judged(limit), "{what}: {took:?}, of {limit:?}");
}

/// Prints the median and the maximum of the times, which are sorted for it, and returns the median: one pause of the
/// machine makes one of them long, but not most of them.
///
/// # Panics
///
/// If there are none.
#[expect(clippy::print_stdout, reason = "figures are printed in each tier, and judged in one")]
pub fn median(what: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{what}: {} times, median {median:?}, longest {longest:?}", times.len());
    median
}
