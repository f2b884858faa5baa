//! Decides when a reload may begin: a token bucket of two, with one more each second.
//!
//! Formatters, fixers and agents write a file twice, so the second of two saves is served as fast as the first. A
//! program that writes all the time costs one process a second.

use std::time::{Duration, Instant};

/// Reloads that may follow each other without a pause.
const BURST: u32 = 2;
/// The time until one more may begin.
const REFILL: Duration = Duration::from_secs(1);

/// Decides when a reload may begin. Two may follow each other without a pause, and one more each second. Time is an
/// argument.
///
/// ```
/// use std::time::{Duration, Instant};
/// use protomcp_watch::Pace;
///
/// let (now, mut pace) = (Instant::now(), Pace::default());
/// assert!(pace.try_begin(now) && pace.try_begin(now) && !pace.try_begin(now));
/// assert_eq!(pace.ready_at(), Some(now + Duration::from_secs(1)));
/// ```
#[derive(Debug, Default)]
pub struct Pace {
    /// The time at which the bucket is full again; `None` before the first reload.
    full_at: Option<Instant>,
}

impl Pace {
    /// The time at which the next reload may begin; `None`: immediately, as before the first one.
    #[must_use]
    pub fn ready_at(&self) -> Option<Instant> {
        // The instant is at least one `REFILL` after another one, so the subtraction has a result.
        self.full_at?.checked_sub(REFILL * (BURST - 1))
    }

    /// Begins a reload, if one may begin now.
    pub fn try_begin(&mut self, now: Instant) -> bool {
        let ready = self.ready_at().is_none_or(|at| at <= now);
        if ready {
            self.begin(now);
        }
        ready
    }

    /// Counts a reload that begins now in any case.
    pub fn begin(&mut self, now: Instant) {
        self.full_at = Some(self.full_at.map_or(now, |at| at.max(now)) + REFILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The begins of reloads if one is requested at each of these milliseconds and waits for its turn.
    fn begun(wanted: &[u64]) -> Vec<u64> {
        let (start, mut pace, mut begun) = (Instant::now(), Pace::default(), Vec::new());
        let mut last = start;
        for at in wanted {
            let wanted = last.max(start + Duration::from_millis(*at));
            let ready = pace.ready_at().map_or(wanted, |ready| ready.max(wanted));
            if ready > wanted {
                assert!(!pace.try_begin(ready - Duration::from_millis(1)), "not before it is ready");
            }
            assert!(pace.try_begin(ready), "{at}: it is ready");
            begun.push(u64::try_from((ready - start).as_millis()).unwrap());
            last = ready;
        }
        begun
    }

    #[test]
    fn two_reloads_follow_each_other_and_a_third_waits() {
        for (wanted, expected) in [
            (&[0][..], &[0][..]),
            (&[0, 0], &[0, 0]),
            (&[0, 100], &[0, 100]),
            (&[0, 0, 0], &[0, 0, 1_000]),
            (&[0, 100, 200, 300], &[0, 100, 1_000, 2_000]),
            // After a pause of a second one more may follow, and after two seconds two.
            (&[0, 0, 1_500, 1_500, 1_500], &[0, 0, 1_500, 2_000, 3_000]),
            (&[0, 0, 2_000, 2_000, 2_000], &[0, 0, 2_000, 2_000, 3_000]),
            // A long pause saves no more than two.
            (&[0, 60_000, 60_000, 60_000], &[0, 60_000, 60_000, 61_000]),
            // One each second never waits.
            (&[0, 0, 1_000, 2_000, 3_000], &[0, 0, 1_000, 2_000, 3_000]),
        ] {
            assert_eq!(begun(wanted), expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_reload_that_begins_in_any_case_counts() {
        let (now, mut pace) = (Instant::now(), Pace::default());
        pace.begin(now);
        pace.begin(now);
        assert_eq!(pace.ready_at(), Some(now + REFILL));
        assert!(!pace.try_begin(now));
    }
}
