//! The hold we have on a running process, whoever watches over it.
//!
//! Everything here works without a runtime and may be called from `Drop`.

use crate::direct_child;
#[cfg(target_os = "linux")]
use crate::guardian_child;

/// How signals reach a process and all that came from it.
#[derive(Debug)]
pub(crate) enum KillHandle {
    /// Through a guardian.
    #[cfg(target_os = "linux")]
    Guarded(guardian_child::Hold),
    /// By ourselves.
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

    /// The same, and waits a moment (milliseconds; at most half a second) until it is done.
    pub(crate) fn end_now(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.end_now(),
            Self::Direct(hold) => hold.kill(),
        }
    }

    /// Whoever watched over the process is gone without a word: kills what can still be found.
    pub(crate) fn sweep(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.sweep(),
            Self::Direct(hold) => hold.kill(),
        }
    }

    /// Leaves no zombie of ours behind; true once there is none.
    pub(crate) fn reap(&self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(hold) => hold.reap(),
            Self::Direct(_) => true,
        }
    }
}
