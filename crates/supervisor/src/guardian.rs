//! The guardian: a small process of ours between the bridge and the tool process, so that no orphan stays behind.
//!
//! Nobody runs code after SIGKILL, so the bridge cannot clean up after itself in the worst case. On Linux it therefore
//! executes its own program once more, as a guardian, and the guardian starts the tool process. The guardian
//!
//! - leads a session of its own, so a terminal's Ctrl-C reaches neither it nor the tool process;
//! - is the subreaper of everything below it: whatever a descendant does (a session of its own, a double fork), it
//!   stays a descendant;
//! - holds one end of a socket whose other end only the bridge has. The end of that stream, whatever its reason, means
//!   that the bridge is gone: the guardian stops and kills every descendant until none is left, and exits;
//! - reports the start of the tool process and its exact end through the same socket, and sends the signals the bridge
//!   asks for. It alone reaps the tool process, so a signal never meets a process id that was given to someone else;
//! - removes the file of a socket that goes with the process, if the bridge was killed before it could.
//!
//! It has one thread, a few pages of memory, and sleeps until something ends.
//!
//! A guardian that is stopped (SIGSTOP) goes on when it gets an order and when the bridge ends. When only the guardian is
//! killed, the tool process dies by its parent-death signal, and the bridge kills what is left: the guardian's session, and
//! whatever has the path of the process's socket in its environment.
//!
//! It does not reach: processes that others start on the tool's behalf (`systemd-run`, `docker`); processes of other users
//! (`sudo`), unless it runs as root; and, when bridge and guardian are killed at once, what the tool process has started.
//! It exits 10 s after it has killed everything even if the kernel still holds a process, which then ends when the kernel
//! lets go of it.

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
pub(crate) mod descendants;
#[cfg(target_os = "linux")]
pub(crate) mod protocol;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod socket_cleanup;

static OFFERED: AtomicBool = AtomicBool::new(false);

/// Does a guardian's work if this process was started as one, and exits; otherwise returns at once.
///
/// Call it first thing in `main`, before any thread, runtime or open file: a guardian is to be small, and it closes
/// every descriptor it inherited. Having called it is also what makes
/// [`Guardian::CurrentExe`](crate::command::Guardian::CurrentExe) the default for every command of this process.
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

/// Whether this program, executed again, would become a guardian.
pub(crate) fn is_offered() -> bool {
    OFFERED.load(Ordering::Relaxed)
}
