//! The timeouts of a stop.

use std::time::Duration;

/// Longer times are cut, so that they can be added to any moment.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// The timeouts between the steps of a stop. Timeouts of more than ten years are cut.
///
/// The steps are: close the link, SIGTERM to the group, SIGKILL to everything. See
/// [`Lifecycle`](crate::lifecycle::Lifecycle).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopPolicy {
    /// From closing the link to SIGTERM. Default 1 s: enough for an SDK to stop its own children.
    pub close: Duration,
    /// From SIGTERM to SIGKILL. Default 2 s.
    pub terminate: Duration,
    /// From SIGKILL to the end without the system's confirmation. Default 5 s: a process stuck in the kernel (a dead
    /// network file system) must not block a shutdown.
    pub kill: Duration,
}

impl StopPolicy {
    /// These timeouts, as far as they can be added to any moment.
    pub(crate) fn bounded(self) -> Self {
        let Self { close, terminate, kill } = self;
        Self { close: close.min(LONGEST), terminate: terminate.min(LONGEST), kill: kill.min(LONGEST) }
    }
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self { close: Duration::from_secs(1), terminate: Duration::from_secs(2), kill: Duration::from_secs(5) }
    }
}
