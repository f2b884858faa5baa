//! The bounds of tasks.

use std::time::Duration;

/// The bounds of tasks: the tasks of sessions together, and as many without a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLimits {
    /// Tasks, ended ones included until their time is up. For one more the oldest of the caller with most of them is
    /// forgotten, ended ones first. One more of that caller is refused in a session (see `Tasks`), and is answered as a
    /// call without one.
    pub max: usize,
    /// Tasks of one session, ended ones included until their time is up. One more is refused.
    pub max_per_session: usize,
    /// Bytes that are kept of results. For a new result the oldest results of the caller with most of them are
    /// forgotten. When that leaves only the new one, a short error takes its place.
    pub max_bytes: usize,
    /// The longest time for which a task is kept, even if a handler or client requests more; a year at most.
    pub max_ttl: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self { max: 4096, max_per_session: 256, max_bytes: 256 << 20, max_ttl: Duration::from_secs(24 * 60 * 60) }
    }
}
