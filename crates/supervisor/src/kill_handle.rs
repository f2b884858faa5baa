//! The handle that ends a running process, with or without a guardian.
//!
//! Everything here works without a runtime and may be called from `Drop`.

use crate::direct_child;
#[cfg(target_os = "linux")]
use crate::guardian_child;

/// Sends signals to a process and all of its descendants.
#[derive(Debug)]
pub(crate) enum KillHandle {
    /// Through a guardian.
    #[cfg(target_os = "linux")]
    Guarded(guardian_child::Hold),
    /// Directly.
    Direct(direct_child::Hold),
}

impl KillHandle {
    /// SIGTERM to the process group. Does nothing once the process has ended.
    pub(crate) fn terminate(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.terminate(),
            Self::Direct(hold) => hold.terminate(),
        }
    }

    /// SIGKILL to everything within reach. Does nothing once that is done.
    pub(crate) fn kill(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.kill(),
            Self::Direct(hold) => hold.kill(),
        }
    }

    /// Like [`kill`](Self::kill), and waits until it is done (milliseconds; at most half a second).
    pub(crate) fn end_now(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.end_now(),
            Self::Direct(hold) => hold.kill(),
        }
    }

    /// The guardian or thread is gone without a report: kills all processes that can still be found.
    pub(crate) fn sweep(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.sweep(),
            Self::Direct(hold) => hold.kill(),
        }
    }

    /// Reaps the child, so that it is not a zombie; returns true once it is reaped.
    pub(crate) fn reap(&self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.reap(),
            Self::Direct(_) => true,
        }
    }
}
