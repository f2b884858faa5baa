//! A process without a guardian: a dedicated thread starts it and waits for its end.
//!
//! The thread lives as long as the process, which matters on Linux: the parent-death signal is sent when the starting
//! *thread* ends, and a thread of a runtime's pool may end while the bridge lives.
//!
//! The process leads its own group, and the whole group is killed with it; see
//! [`Guardian::None`](crate::command::Guardian::None) for the exceptions.

use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use crate::command::Command;
use crate::error::SpawnError;
use crate::exit::Status;
use crate::started::{Started, configure_stdio};
use crate::{open_files, os};

/// Enough for a fork and a wait.
const STACK: usize = 256 * 1024;

/// Starts the command itself.
pub(crate) async fn launch(command: &Command) -> Result<Started<Hold, oneshot::Receiver<Status>>, SpawnError> {
    let other = |source| SpawnError::Other { program: command.program().to_owned(), source };
    let mut std = std::process::Command::new(command.program());
    std.args(command.arguments());
    configure_stdio(command, &mut std);
    if command.is_piped() {
        std.stdin(Stdio::piped());
    }
    if let Some(directory) = command.directory() {
        // The standard library would report a missing directory as a missing program.
        if let Err(source) = std::fs::read_dir(directory) {
            return Err(SpawnError::Directory { directory: directory.into(), source });
        }
        std.current_dir(directory);
    }
    os::prepare_child(&mut std, open_files::before());

    let (started, start) = oneshot::channel();
    let (ended, end) = oneshot::channel();
    let thread = thread::Builder::new().name("protomcp-tool".into()).stack_size(STACK);
    thread.spawn(move || wait_thread(std, started, ended)).map_err(other)?;
    let Start { hold, stdin, stdout, stderr } = match start.await {
        Ok(Ok(start)) => start,
        Ok(Err(source)) => return Err(SpawnError::executing(command.program().to_owned(), source)),
        Err(_) => return Err(other(io::ErrorKind::Other.into())),
    };
    let pid = hold.pid.as_raw_pid().cast_unsigned();
    Ok(Started { pid, hold, reports: end, stdin, stdout, stderr })
}

struct Start {
    hold: Hold,
    stdin: Option<OwnedFd>,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// The main function of the thread.
fn wait_thread(
    mut command: std::process::Command,
    started: oneshot::Sender<io::Result<Start>>,
    ended: oneshot::Sender<Status>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let stdin = child.stdin.take().map(OwnedFd::from);
    let stdout = child.stdout.take().expect("standard output was asked for as a pipe");
    let stderr = child.stderr.take().expect("standard error was asked for as a pipe");
    let pid = Pid::from_child(&child);
    let running = Arc::new(Mutex::new(true));
    // If the receiver is gone, the hold is dropped here and kills.
    let _ = started.send(Ok(Start { hold: Hold { pid, running: running.clone() }, stdin, stdout, stderr }));

    // Waits without reaping: until then the group keeps its number, so the last signal cannot hit another one.
    while matches!(waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT), Err(Errno::INTR)) {}
    let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = kill_process_group(pid, Signal::KILL);
    *running = false;
    let _ = ended.send(reap(&mut child));
}

fn reap(child: &mut Child) -> Status {
    child.wait().map_or(Status::Unknown, Status::from)
}

/// The hold on a process. Dropping it kills everything within reach.
#[derive(Debug)]
pub(crate) struct Hold {
    pid: Pid,
    /// True while the process is not reaped, so that the number of its group is its own.
    running: Arc<Mutex<bool>>,
}

impl Hold {
    pub(crate) fn terminate(&self) {
        let running = self.lock();
        if *running {
            // SIGCONT as well: otherwise a stopped process could not handle the signal.
            for signal in [Signal::TERM, Signal::CONT] {
                let _ = kill_process_group(self.pid, signal);
            }
        }
    }

    pub(crate) fn kill(&self) {
        let running = self.lock();
        if *running {
            // While the process exists, its descendants can be found in any group. A stopped process starts no new
            // ones.
            #[cfg(target_os = "linux")]
            {
                let _ = rustix::process::kill_process(self.pid, Signal::STOP);
                crate::guardian::descendants::kill_below(self.pid);
            }
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.kill();
    }
}
