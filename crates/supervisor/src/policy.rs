//! How patient a stop is: the waiting times of the ladder.

use std::time::Duration;

/// How long each rung of the stop ladder waits before the next one.
///
/// The ladder is: close the link, SIGTERM to the group, SIGKILL to everything. See
/// [`Lifecycle`](crate::lifecycle::Lifecycle).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopPolicy {
    /// After the link was closed, before SIGTERM. Default 1 s: enough for an SDK to stop what it started itself.
    pub close: Duration,
    /// After SIGTERM, before SIGKILL. Default 2 s.
    pub terminate: Duration,
    /// After SIGKILL, before the end is announced without the system's confirmation. Default 5 s: a process stuck in
    /// the kernel (a dead network file system) must not hold up a shutdown.
    pub kill: Duration,
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self { close: Duration::from_secs(1), terminate: Duration::from_secs(2), kill: Duration::from_secs(5) }
    }
}
