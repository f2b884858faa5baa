//! The limits of the queue of calls.

use std::time::Duration;

/// Limits of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// The most calls that wait, of all sessions together.
    pub(crate) capacity: usize,
    /// The time of a call until its turn.
    pub(crate) turn: Duration,
    /// The time for which a handler whose call was given up counts as running.
    pub(crate) handler: Duration,
    /// The time of such a handler while it keeps others from running: then another process takes those.
    pub(crate) grace: Duration,
}
