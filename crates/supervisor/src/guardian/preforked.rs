//! A guardian that is forked before its command is known.
//!
//! To execute a program of many megabytes again takes two milliseconds, for which the start of a tool process has to wait:
//! the system maps the program and its libraries, and each address in its tables is adapted. A fork of a program that has
//! just started takes a tenth of that, and the guardian gets ready while the program goes on.

use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::guardian::service;
use crate::os;

static PREFORKED: Mutex<Option<Preforked>> = Mutex::new(None);

/// A guardian that waits for its command. It ends after the last descriptor of the socket is closed, which the end of this
/// process does at the latest.
#[derive(Debug)]
pub(crate) struct Preforked {
    pub(crate) control: UnixStream,
    pub(crate) pid: Pid,
}

/// Forks a guardian, if this process has one thread and no guardian waits already. A failure is not reported: then the
/// guardian is executed, when it is needed.
pub(super) fn fork() {
    let mut slot = PREFORKED.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.is_some() {
        return;
    }
    let Ok((ours, theirs)) = UnixStream::pair() else { return };
    match os::fork() {
        Ok(None) => {
            drop(ours);
            // A panic must not go on in the copy of the caller.
            let code = std::panic::catch_unwind(|| service::serve_preforked(theirs.into()));
            os::exit_quietly(code.unwrap_or(2));
        }
        Ok(Some(pid)) => *slot = Some(Preforked { control: ours, pid }),
        Err(error) => tracing::debug!(%error, "no guardian was forked: it is executed later"),
    }
}

/// The guardian that waits, once.
pub(crate) fn take() -> Option<Preforked> {
    PREFORKED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Ends the guardian that waits, and returns when it is gone. It has no descendants, so a signal is enough.
pub(super) fn end() {
    if let Some(Preforked { pid, .. }) = take() {
        let _ = kill_process(pid, Signal::KILL);
        while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}
