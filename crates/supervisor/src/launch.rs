//! Launches a command, with or without a guardian.

use std::io;
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::process::{ChildStderr, ChildStdout};
#[cfg(target_os = "linux")]
use std::sync::Once;

use tokio::sync::oneshot;

use crate::command::{Command, Guardian};
use crate::direct_child;
use crate::error::SpawnError;
use crate::exit::Status;
use crate::guardian;
#[cfg(target_os = "linux")]
use crate::guardian_child;
use crate::kill_handle::KillHandle;
use crate::started::Started;

/// A running process and the handles on it.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) pid: u32,
    pub(crate) kill_handle: KillHandle,
    pub(crate) reports: Reports,
    /// The writing end of standard input, if that is a pipe.
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A start that has begun. Dropping it ends what it began.
#[derive(Debug)]
pub(crate) enum Prepared {
    #[cfg(target_os = "linux")]
    Guarded(guardian_child::Waiting),
    Direct,
}

/// Starts the guardian of the process, if it has one.
///
/// Dropping the future ends what it began.
pub(crate) async fn prepare(command: &Command) -> Result<Prepared, SpawnError> {
    let default = if guardian::is_offered() { Guardian::CurrentExe } else { Guardian::None };
    #[cfg(target_os = "linux")]
    if command.chosen_guardian().is_none() && !guardian::is_offered() {
        warn_unguarded(&UNGUARDED);
    }
    match command.chosen_guardian().unwrap_or(&default) {
        #[cfg(target_os = "linux")]
        // Not by its path: an upgrade may have replaced the file since this program was started.
        Guardian::CurrentExe => match preforked(command).await {
            Some(prepared) => Ok(prepared),
            None => guarded(command, "/proc/self/exe".as_ref()).await,
        },
        #[cfg(target_os = "linux")]
        Guardian::Program(program) => guarded(command, program).await,
        #[cfg(not(target_os = "linux"))]
        Guardian::CurrentExe | Guardian::Program(_) => Ok(Prepared::Direct),
        Guardian::None => Ok(Prepared::Direct),
    }
}

/// The warning of this program.
#[cfg(target_os = "linux")]
static UNGUARDED: Once = Once::new();

/// Warns once that this program has no guardian, and has not chosen to have none.
#[cfg(target_os = "linux")]
fn warn_unguarded(warned: &Once) {
    warned.call_once(|| {
        tracing::warn!(
            "this program starts processes without a guardian, so what they have started may survive it: call \
             guardian::run_if_requested() first in main, or choose Guardian::None"
        );
    });
}

/// Gives the command to the guardian that was forked for the first one. `None` if there is none, or it fails: another is
/// executed then.
#[cfg(target_os = "linux")]
async fn preforked(command: &Command) -> Option<Prepared> {
    let waiting = guardian_child::assign(command, guardian::preforked::take()?).await;
    let failed = |error: &io::Error| tracing::debug!(%error, "the forked guardian is not used: another is executed");
    waiting.inspect_err(failed).ok().map(Prepared::Guarded)
}

#[cfg(target_os = "linux")]
async fn guarded(command: &Command, guardian: &Path) -> Result<Prepared, SpawnError> {
    guardian_child::prepare(command, guardian).await.map(Prepared::Guarded)
}

/// Starts the process and returns once it has been executed.
///
/// Dropping the future ends what it began.
pub(crate) async fn start(prepared: Prepared, command: &Command) -> Result<Launched, SpawnError> {
    match prepared {
        #[cfg(target_os = "linux")]
        Prepared::Guarded(waiting) => {
            let Started { pid, hold, reports, stdin, stdout, stderr } = guardian_child::start(waiting, command).await?;
            let (kill_handle, reports) = (KillHandle::Guarded(hold), Reports::Guarded(reports));
            Ok(Launched { pid, kill_handle, reports, stdin, stdout, stderr })
        }
        Prepared::Direct => {
            let Started { pid, hold, reports, stdin, stdout, stderr } = direct_child::launch(command).await?;
            let (kill_handle, reports) = (KillHandle::Direct(hold), Reports::Direct(reports));
            Ok(Launched { pid, kill_handle, reports, stdin, stdout, stderr })
        }
    }
}

/// The source of the end of a process.
#[derive(Debug)]
pub(crate) enum Reports {
    #[cfg(target_os = "linux")]
    Guarded(guardian_child::Reports),
    Direct(oneshot::Receiver<Status>),
}

impl Reports {
    /// The end of the process; an error if the reporting guardian or thread is gone. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> io::Result<Status> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(reports) => reports.ended().await,
            Self::Direct(status) => status.await.map_err(|_| io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Resolves when no descendant is being killed. Must be called after the end. Cancel-safe.
    pub(crate) async fn closed(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(reports) => reports.closed().await,
            Self::Direct(_) => {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Counts the lines of a log.
    struct Count(Arc<AtomicUsize>);

    impl Subscriber for Count {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_program_without_a_guardian_is_warned_once() {
        let (lines, warned) = (Arc::new(AtomicUsize::new(0)), Once::new());
        tracing::subscriber::with_default(Count(Arc::clone(&lines)), || {
            warn_unguarded(&warned);
            warn_unguarded(&warned);
        });
        assert_eq!(lines.load(Ordering::Relaxed), 1);
    }
}
