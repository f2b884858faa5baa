//! Waiting for what must happen, with one deadline for all, and the limits of figures.

use std::time::Duration;

use protomcp_testing::judged;

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
