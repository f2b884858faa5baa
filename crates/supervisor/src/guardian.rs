//! The guardian: a small process between the bridge and the tool process that leaves no orphans.
//!
//! No code of a process runs after SIGKILL, so the bridge cannot clean up after itself in the worst case. On Linux it
//! therefore executes its own program once more, as a guardian, and the guardian starts the tool process. The first guardian
//! of a program can be [forked](prefork) instead, which is faster. The guardian
//!
//! - leads its own session, so a terminal's Ctrl-C reaches neither it nor the tool process;
//! - is the subreaper of everything below it: a descendant stays a descendant even in its own session or after a double
//!   fork;
//! - holds one end of a socket whose other end only the bridge has. The end of that stream, for any reason, means that
//!   the bridge is gone: the guardian stops and kills every descendant, and exits;
//! - reports the start and the exact end of the tool process through the same socket, and sends the signals that the
//!   bridge requests. It alone reaps the tool process, so a signal never hits a reused process id;
//! - removes the socket file of the process, if the bridge was killed before it could.
//!
//! It has one thread, a few pages of memory, and sleeps until an event arrives.
//!
//! A stopped guardian (SIGSTOP) continues when it receives an order and when the bridge ends. If only the guardian is
//! killed, the tool process dies by its parent-death signal, and the bridge kills the remains: the guardian's session,
//! and every process with the path of the socket in its environment.
//!
//! It does not reach processes that others start on the tool's behalf (`systemd-run`, `docker`), processes of other
//! users (`sudo`) unless it runs as root, and, if bridge and guardian are killed together, the descendants of the tool
//! process. It exits 10 s after it has killed everything even if the kernel still holds a process, which then ends when
//! the kernel releases it.

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
pub(crate) mod assignment;
#[cfg(target_os = "linux")]
pub(crate) mod descendants;
#[cfg(target_os = "linux")]
pub(crate) mod preforked;
#[cfg(target_os = "linux")]
pub(crate) mod protocol;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod socket_cleanup;

static OFFERED: AtomicBool = AtomicBool::new(false);

/// Runs as a guardian and exits, if this process was started as one; otherwise returns immediately.
///
/// Call it first in `main`, before any thread, runtime or open file: a guardian must be small, and it closes every
/// descriptor it inherited. The call also makes [`Guardian::CurrentExe`](crate::command::Guardian::CurrentExe) the
/// default for every command of this process.
///
/// ```
/// use protomcp_supervisor::guardian;
///
/// guardian::run_if_requested();
/// // ... the program itself
/// ```
pub fn run_if_requested() {
    #[cfg(target_os = "linux")]
    {
        let mut args = std::env::args_os().skip(1);
        if args.next().is_some_and(|first| first == protocol::MARKER) {
            std::process::exit(service::serve(args));
        }
    }
    OFFERED.store(true, Ordering::Relaxed);
}

/// Forks the guardian of the first process that this program will start, if it starts one with
/// [`Guardian::CurrentExe`](crate::command::Guardian::CurrentExe). The process starts one to two milliseconds earlier then.
///
/// Call it in `main` after [`run_if_requested`], while the program has one thread; otherwise it has no effect. The process
/// inherits the environment, the directory and the limits that the program has at this moment. Keep the value until the
/// program ends: a guardian that no process needed ends with it.
///
/// ```
/// use protomcp_supervisor::guardian;
///
/// guardian::run_if_requested();
/// let _preforked = guardian::prefork();
/// // ... the runtime, and the program itself
/// ```
pub fn prefork() -> Prefork {
    #[cfg(target_os = "linux")]
    preforked::fork();
    Prefork(())
}

/// Ends the guardian of [`prefork`] when it is dropped, if no process needed it. After the drop the guardian is gone.
#[must_use = "the guardian ends when this is dropped"]
#[derive(Debug)]
pub struct Prefork(());

impl Drop for Prefork {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        preforked::end();
    }
}

/// True if this program, executed again, would become a guardian.
pub(crate) fn is_offered() -> bool {
    OFFERED.load(Ordering::Relaxed)
}
