//! The pauses between attempts to reach a server, as a value: the time is an argument.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pause after the first failure; each further one doubles it.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// A time without failures of at least this length resets their number.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// The failures of a server in a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Health {
    failures: u32,
    /// The end of the last outage.
    since: Option<Instant>,
    outage: Option<Outage>,
}

/// The reason of a failure in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// For clients.
    pub(crate) shown: Arc<str>,
    /// For the operator: it may quote the server, whose output is not for each of its clients.
    pub(crate) logged: Arc<str>,
}

impl From<&str> for Cause {
    fn from(text: &str) -> Self {
        Self { shown: text.into(), logged: text.into() }
    }
}

/// The time after a failure, until the server works again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) cause: Cause,
    /// The time of the next attempt.
    pub(crate) retry_at: Instant,
}

impl Health {
    /// The outage, if there is one.
    pub(crate) fn outage(&self) -> Option<&Outage> {
        self.outage.as_ref()
    }

    /// The outage, if the next attempt is not due.
    pub(crate) fn blocked(&self, now: Instant) -> Option<&Outage> {
        self.outage.as_ref().filter(|outage| outage.retry_at > now)
    }

    /// The server has failed. Failures during a pause belong to the one before it.
    pub(crate) fn failed(&mut self, now: Instant, cause: impl Into<Cause>) {
        if self.blocked(now).is_some() {
            return;
        }
        if self.since.take().is_some_and(|since| now.saturating_duration_since(since) >= HEALTHY_AFTER) {
            self.failures = 0;
        }
        let doublings = self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        self.outage = Some(Outage { cause: cause.into(), retry_at: now + pause });
    }

    /// The server works. True if this ends an outage.
    pub(crate) fn works(&mut self, now: Instant) -> bool {
        let was_down = self.outage.take().is_some();
        if was_down || self.since.is_none() {
            self.since = Some(now);
        }
        was_down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_eight_seconds() {
        let (mut health, mut now) = (Health::default(), Instant::now());
        for millis in [250, 500, 1000, 2000, 4000, 8000, 8000] {
            health.failed(now, "no");
            let outage = health.blocked(now).unwrap().clone();
            assert_eq!((outage.retry_at - now).as_millis(), millis);
            health.failed(now, "another call that failed with it");
            assert_eq!(health.outage(), Some(&outage));
            now = outage.retry_at;
            assert!(health.blocked(now).is_none() && health.outage().is_some());
        }
        assert!(health.works(now) && !health.works(now));
        assert!(health.outage().is_none());
    }

    #[test]
    fn a_minute_of_health_forgets_the_failures() {
        let (mut health, start) = (Health::default(), Instant::now());
        let pause_after = |health: &mut Health, now| {
            health.failed(now, "no");
            (health.outage().unwrap().retry_at - now).as_millis()
        };
        health.works(start);
        let mut now = start;
        for (working, millis) in [(1, 250), (59, 500), (60, 250), (59, 500)] {
            now += Duration::from_secs(working);
            assert_eq!(pause_after(&mut health, now), millis, "after {working} s");
            now += Duration::from_secs(10);
            health.works(now);
        }
    }
}
