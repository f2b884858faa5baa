//! The limits of the queue of calls.

use std::time::{Duration, Instant};

/// A time that is too long to be an instant.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Limits of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// The most calls that wait, of all sessions together.
    pub(crate) capacity: usize,
    /// The time of a call until its turn.
    pub(crate) turn: Duration,
    /// The time for which a handler whose call or request was given up counts as running.
    pub(crate) handler: Duration,
    /// The time of such a handler while it keeps others from running: then another process takes those.
    pub(crate) grace: Duration,
}

impl QueueLimits {
    /// The end of the time for which a handler counts as running if its call or request is given up now.
    pub(crate) fn handler_until(&self, now: Instant) -> Instant {
        // A time beyond the range of the clock is the end of the process.
        now.checked_add(self.handler).unwrap_or(now + FOR_EVER)
    }
}
