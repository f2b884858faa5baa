//! Restarts after failures, with backoff.
//!
//! A failing process is restarted after longer and longer pauses, and not at all after a few failures in a row: the
//! owner then serves in a degraded state until it calls [`Restart::retry`]. After a long run the next failure counts as
//! the first again.

use std::time::{Duration, Instant};

use crate::policy::LONGEST;

/// The parameters of [`Restart`]. With the defaults the pauses are 0.25, 0.5, 1 and 2 s, and the fifth failure is the
/// last; the cap matters only with more attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure; each further one doubles it. Default 0.25 s.
    pub first: Duration,
    /// The longest pause, at most ten years. Default 8 s.
    pub cap: Duration,
    /// A run of at least this length resets the failures. Default 60 s.
    pub healthy_after: Duration,
    /// The number of failures in a row after which restarts end. Default 5; 0 counts as 1.
    pub give_up_after: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            cap: Duration::from_secs(8),
            healthy_after: Duration::from_secs(60),
            give_up_after: 5,
        }
    }
}

impl Backoff {
    /// The pause after the given number of failures in a row, which counts from 1.
    pub fn pause(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.cap).min(LONGEST)
    }
}

/// The reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Start again after this pause.
    After(Duration),
    /// Do not start again by itself.
    GiveUp,
}

/// Counts failures in a row and decides about restarts.
#[derive(Debug, Clone, Default)]
pub struct Restart {
    backoff: Backoff,
    failures: u32,
    due: Option<Instant>,
}

impl Restart {
    /// No failures.
    pub fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0, due: None }
    }

    /// The process failed at `now` after it had run for `uptime` (zero if it did not start).
    pub fn failed(&mut self, now: Instant, uptime: Duration) -> Next {
        if uptime >= self.backoff.healthy_after {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.backoff.give_up_after.max(1) {
            self.due = None;
            return Next::GiveUp;
        }
        let pause = self.backoff.pause(self.failures);
        self.due = Some(now + pause);
        Next::After(pause)
    }

    /// The process has run for [`Backoff::healthy_after`]: earlier failures are reset.
    pub fn healthy(&mut self) {
        self.failures = 0;
        self.due = None;
    }

    /// The cause may have been fixed, by a save for example: resets all failures, so the next start may be immediate.
    pub fn retry(&mut self) {
        self.failures = 0;
        self.due = None;
    }

    /// The time of the next start: set by [`Next::After`], cleared by [`Restart::poll`], [`Restart::healthy`] and
    /// [`Restart::retry`].
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// True once the pause is over, once per pause.
    pub fn poll(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }

    /// Failures in a row so far.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// True if restarts have ended until [`Restart::retry`].
    pub fn has_given_up(&self) -> bool {
        self.failures >= self.backoff.give_up_after.max(1)
    }
}
