//! The waits of a process whose store does not answer, as a value.

use std::time::Duration;

/// The first wait, at most.
const FIRST: Duration = Duration::from_millis(100);

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(1);

/// `FIRST` doubled this often is more than `LONGEST`.
const MAX_DOUBLINGS: u32 = 4;

/// The attempts that have failed since the last one that succeeded. Waits between them double from 100 ms to a second.
/// Each is shortened at random by up to a half, so that processes do not return to a store together.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    failures: u32,
}

impl Outage {
    /// An attempt has failed. Returns true for the first one of an outage.
    pub(crate) fn failed(&mut self) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.failures == 1
    }

    /// An attempt has succeeded. Returns true if this ends an outage.
    pub(crate) fn succeeded(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }

    /// The time until the next attempt, for a random number.
    pub(crate) fn wait(&self, random: u8) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(MAX_DOUBLINGS);
        let half = LONGEST.min(FIRST * (1 << doublings)) / 2;
        half + half * u32::from(random) / u32::from(u8::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_second() {
        let mut outage = Outage::default();
        let waits = |outage: &Outage| [0, 255].map(|random| outage.wait(random).as_millis());
        assert_eq!(waits(&outage), [50, 100], "nothing has failed");
        for expected in [[50, 100], [100, 200], [200, 400], [400, 800], [500, 1_000], [500, 1_000]] {
            outage.failed();
            assert_eq!(waits(&outage), expected);
        }
        outage.failures = u32::MAX;
        outage.failed();
        assert_eq!(waits(&outage), [500, 1_000]);
        assert!(outage.succeeded());
        assert_eq!(waits(&outage), [50, 100]);
    }

    #[test]
    fn an_outage_begins_and_ends_once() {
        let mut outage = Outage::default();
        assert!(!outage.succeeded());
        for _ in 0..2 {
            assert_eq!([outage.failed(), outage.failed(), outage.failed()], [true, false, false]);
            assert_eq!([outage.succeeded(), outage.succeeded()], [true, false]);
        }
    }
}
