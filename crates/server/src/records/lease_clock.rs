//! The clock of leases, which goes on while the machine is suspended.
//!
//! `Instant` stands still in that time on Linux and macOS. A process that measured its lease with it would serve
//! sessions after another one has taken them over.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::records::clock::now;

/// The later of two clocks: the one of the runtime, and one that counts the time in which the machine is suspended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseClock {
    start: Instant,
    since_boot: Duration,
}

impl LeaseClock {
    /// The two clocks at one moment. `since_boot` is read first, so that the second clock is never the earlier one
    /// before the machine is suspended.
    pub(crate) fn new(since_boot: Duration, start: Instant) -> Self {
        Self { start, since_boot }
    }

    /// The time of the clock that is ahead.
    pub(crate) fn read(&self, since_boot: Duration, running: Instant) -> Instant {
        running.max(self.start + since_boot.saturating_sub(self.since_boot))
    }
}

/// The time of leases. Differences between two of these times count the suspension of the machine.
pub(crate) fn lease_now() -> Instant {
    static CLOCK: LazyLock<LeaseClock> = LazyLock::new(|| {
        let since_boot = since_boot();
        LeaseClock::new(since_boot, Instant::now())
    });
    CLOCK.read(since_boot(), now())
}

/// The time since the machine was started, with its suspensions.
#[cfg(unix)]
fn since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = ClockId::Monotonic;
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// `Instant` counts suspensions here.
#[cfg(not(unix))]
fn since_boot() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of both clocks, and the time of leases.
    #[test]
    fn the_clock_that_is_ahead_counts() {
        let start = Instant::now();
        let clock = LeaseClock::new(Duration::from_secs(1_000), start);
        for (since_boot, running, expected) in [
            (1_000, 0, 0),
            (1_009, 9, 9),
            // Suspended for an hour.
            (4_609, 9, 3_609),
            (4_610, 10, 3_610),
            // A test has moved the clock of the runtime.
            (1_000, 60, 60),
            // The second clock does not exist.
            (0, 9, 9),
        ] {
            let read = clock.read(Duration::from_secs(since_boot), start + Duration::from_secs(running));
            assert_eq!(read, start + Duration::from_secs(expected), "{since_boot} and {running}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_since_boot_is_the_one_of_the_system() {
        let uptime = || {
            let text = std::fs::read_to_string("/proc/uptime").unwrap();
            Duration::from_secs_f64(text.split(' ').next().unwrap().parse().unwrap())
        };
        let (before, read, after) = (uptime(), since_boot(), uptime());
        // The file has hundredths of seconds.
        assert!(before <= read && read <= after + Duration::from_millis(20), "{before:?} {read:?} {after:?}");
    }
}
