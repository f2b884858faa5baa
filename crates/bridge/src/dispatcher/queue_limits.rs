//! The limits of the queue of calls.

use std::time::Duration;

/// Limits of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// The most calls that wait, of all sessions together.
    pub(crate) capacity: usize,
    /// The time of a call until its turn.
    pub(crate) turn: Duration,
    /// The time of a handler whose call was given up, while it keeps others from running.
    pub(crate) handler: Duration,
}
