//! The times between requests to one registry: pacing before them, and waiting after failures.
//!
//! Times are durations since any fixed moment, so that a test needs no clock.

use std::time::Duration;

use crate::registry::error::{Cause, ResolveError};

/// Lets requests through at the rate that a registry allows: a burst, then one each interval.
#[derive(Debug, Clone)]
pub struct Pacer {
    interval: Duration,
    burst: u32,
    /// The time at which a full burst is available again.
    restored: Duration,
}

/// The attempts of one resolution.
#[derive(Debug, Clone)]
pub struct Attempts {
    made: u32,
    most: u32,
    /// The time at which the caller gives up.
    deadline: Duration,
}

/// The first delay after a failure. Each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// The longest delay that is chosen here.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

impl Pacer {
    /// A pacer for `burst` requests immediately, and one more each `interval`.
    #[must_use]
    pub fn new(burst: u32, interval: Duration) -> Self {
        Self { interval, burst: burst.max(1), restored: Duration::ZERO }
    }

    /// Registers a request, and returns the time that it has to wait. `None` means that it would have to wait until
    /// `latest` or longer; it is not registered then, and takes nothing from others.
    pub fn register(&mut self, now: Duration, latest: Duration) -> Option<Duration> {
        let tolerance = self.interval * (self.burst - 1);
        let due = self.restored.max(now);
        let delay = due.saturating_sub(now + tolerance);
        if now + delay >= latest {
            return None;
        }
        self.restored = due + self.interval;
        Some(delay)
    }
}

impl Attempts {
    /// At most `most` attempts until `deadline`.
    #[must_use]
    pub fn new(most: u32, deadline: Duration) -> Self {
        Self { made: 0, most, deadline }
    }

    /// The delay until the next attempt, after a failed one. `None` ends the resolution: the failure is final, or the next
    /// attempt would come too late.
    ///
    /// `jitter` is a random number, by which the delay is longer: up to a half.
    pub fn after_failure(&mut self, failure: &ResolveError, now: Duration, jitter: u8) -> Option<Duration> {
        self.made += 1;
        if self.made >= self.most || !failure.cause().is_temporary() {
            return None;
        }
        let chosen = (FIRST_DELAY * 2_u32.saturating_pow(self.made - 1)).min(LONGEST_DELAY);
        let delay = match (failure.cause(), failure.delay()) {
            (_, Some(asked)) => asked,
            (Cause::RateLimited, None) => chosen.max(Duration::from_secs(1)),
            _ => chosen,
        };
        let delay = delay + chosen * u32::from(jitter) / 512;
        (now + delay < self.deadline).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_is_followed_by_one_request_each_interval() {
        let mut pacer = Pacer::new(2, SECOND);
        let start = SECOND * 100;
        let delays: Vec<_> = (0..5).filter_map(|_| pacer.register(start, Duration::MAX)).collect();
        assert_eq!(delays, [Duration::ZERO, Duration::ZERO, SECOND, SECOND * 2, SECOND * 3]);
        assert_eq!(pacer.register(start + SECOND * 60, Duration::MAX), Some(Duration::ZERO));
    }

    #[test]
    fn requests_that_are_refused_take_no_time_from_others() {
        let mut pacer = Pacer::new(2, SECOND);
        let start = SECOND * 100;
        let sent = (0..60).filter_map(|_| pacer.register(start, start + SECOND * 30)).count();
        assert_eq!(sent, 31);
        let later = start + SECOND * 31;
        assert_eq!(pacer.register(later, later + SECOND * 30), Some(Duration::ZERO));
    }

    #[test]
    fn only_temporary_failures_are_tried_again() {
        let failure = |cause, delay| ResolveError::new(cause, "x").retry_after(delay);
        for (cause, asked, expected) in [
            (Cause::Unavailable, None, Some(FIRST_DELAY)),
            (Cause::RateLimited, None, Some(SECOND)),
            (Cause::RateLimited, Some(SECOND * 3), Some(SECOND * 3)),
            (Cause::Unavailable, Some(SECOND * 2), Some(SECOND * 2)),
            (Cause::RateLimited, Some(SECOND * 60), None),
            (Cause::NotFound, None, None),
            (Cause::Unauthenticated, None, None),
            (Cause::InvalidRef, Some(SECOND), None),
            (Cause::InvalidSchema, None, None),
        ] {
            let mut attempts = Attempts::new(4, SECOND * 10);
            assert_eq!(
                attempts.after_failure(&failure(cause, asked), Duration::ZERO, 0),
                expected,
                "{cause:?} {asked:?}"
            );
        }
    }

    #[test]
    fn delays_double_and_end() {
        let mut attempts = Attempts::new(4, SECOND * 10);
        let failure = ResolveError::new(Cause::Unavailable, "x");
        let delays: Vec<_> = (0..4).map(|_| attempts.after_failure(&failure, Duration::ZERO, 0)).collect();
        let expected = [200, 400, 800].map(|delay| Some(Duration::from_millis(delay)));
        assert_eq!((&delays[..3], delays[3]), (&expected[..], None));
        let jittered = Attempts::new(4, SECOND * 10).after_failure(&failure, Duration::ZERO, 255);
        assert!(jittered.is_some_and(|delay| delay > FIRST_DELAY && delay < FIRST_DELAY * 3 / 2), "{jittered:?}");
    }
}
