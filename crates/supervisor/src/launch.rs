//! From a command to a running process, with or without a guardian.

use std::io;
use std::process::{ChildStderr, ChildStdout, Stdio};

use tokio::sync::oneshot;

use crate::command::{Command, Guardian};
use crate::direct;
use crate::error::SpawnError;
use crate::exit::Status;
#[cfg(target_os = "linux")]
use crate::guarded;
use crate::guardian;
use crate::leash::Leash;

/// A process that runs, and all we hold of it.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) pid: u32,
    pub(crate) leash: Leash,
    pub(crate) reports: Reports,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts the process and returns once it has been executed.
///
/// Dropping the future ends what it began.
pub(crate) async fn launch(command: &Command) -> Result<Launched, SpawnError> {
    let default = if guardian::is_offered() { Guardian::CurrentExe } else { Guardian::None };
    match command.chosen_guardian().unwrap_or(&default) {
        #[cfg(target_os = "linux")]
        // Not by its path: the file may have been replaced by an upgrade since we were started from it.
        Guardian::CurrentExe => guarded::launch(command, "/proc/self/exe".as_ref()).await,
        #[cfg(target_os = "linux")]
        Guardian::Program(program) => guarded::launch(command, program).await,
        #[cfg(not(target_os = "linux"))]
        Guardian::CurrentExe | Guardian::Program(_) => direct::launch(command).await,
        Guardian::None => direct::launch(command).await,
    }
}

/// What every process of ours gets as its standard streams, its environment and its directory.
pub(crate) fn dress(command: &Command, std: &mut std::process::Command) {
    std.envs(command.variables()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// How we learn of the end of a process.
#[derive(Debug)]
pub(crate) enum Reports {
    #[cfg(target_os = "linux")]
    Guarded(guarded::Reports),
    Direct(oneshot::Receiver<Status>),
}

impl Reports {
    /// The end of the process; an error if whoever was to report it is gone without a word. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> io::Result<Status> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(reports) => reports.ended().await,
            Self::Direct(status) => status.await.map_err(|_| io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Whether nothing the process left behind is being killed any more. To be asked after its end. Cancel-safe.
    pub(crate) async fn closed(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Guarded(reports) => reports.closed().await,
            Self::Direct(_) => {}
        }
    }
}
