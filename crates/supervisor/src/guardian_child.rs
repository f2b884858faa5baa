//! The bridge's side of a guardian: starts it, sends orders, receives reports.

use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::command::Command;
use crate::error::SpawnError;
use crate::exit::Status;
use crate::guardian::descendants::kill_remains;
use crate::guardian::protocol::{NAME, Order, Report, Stage, Task};
use crate::open_files;
use crate::started::{Started, configure_stdio};

/// The time in which a guardian must answer. It takes a millisecond; a program that takes this long is not a guardian.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which a drop waits for the guardian to finish. It takes milliseconds.
const DROP_TIMEOUT: Duration = Duration::from_millis(500);

/// A guardian that waits for the order to start its command.
#[derive(Debug)]
pub(crate) struct Waiting {
    hold: Hold,
    reports: Reports,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// Starts `guardian`, which can then start the command.
pub(crate) async fn prepare(command: &Command, guardian: &Path) -> Result<Waiting, SpawnError> {
    let program = || command.program().to_owned();
    let other = |source| SpawnError::Other { program: program(), source };
    let broken = |source| SpawnError::Guardian { program: program(), source };

    // Both ends are close-on-exec, so no tool process of any generation inherits ours.
    let (ours, theirs) = StdStream::pair().map_err(other)?;
    ours.set_nonblocking(true).map_err(other)?;
    let control = OwnedFd::from(ours.try_clone().map_err(other)?);
    let mut reports = Reports::new(UnixStream::from_std(ours).map_err(other)?);
    let mut child = execute(command, guardian, theirs).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => broken(source),
        _ => other(source),
    })?;
    let stdout = child.stdout.take().expect("standard output was asked for as a pipe");
    let stderr = child.stderr.take().expect("standard error was asked for as a pipe");
    let socket =
        command.socket_variable().and_then(|name| Some((name.to_owned(), command.variables().get(name)?.clone())));
    let hold = Hold { control, pid: Pid::from_child(&child), child: Mutex::new(Some(child)), socket };

    match reports.answer(&hold).await.map_err(broken)? {
        Report::Ready => Ok(Waiting { hold, reports, stdout, stderr }),
        Report::Failed(_, errno) => Err(broken(io::Error::from_raw_os_error(errno))),
        Report::Started(_) | Report::Exited(_) => Err(broken(io::ErrorKind::InvalidData.into())),
    }
}

/// Orders the start of the command.
pub(crate) async fn start(waiting: Waiting, command: &Command) -> Result<Started<Hold, Reports>, SpawnError> {
    let program = || command.program().to_owned();
    let broken = |source| SpawnError::Guardian { program: program(), source };

    let Waiting { hold, mut reports, stdout, stderr } = waiting;
    let (theirs, stdin) = if command.is_piped() {
        let (theirs, ours) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
            .map_err(|source| SpawnError::Other { program: program(), source: source.into() })?;
        (Some(theirs), Some(ours))
    } else {
        (None, None)
    };
    hold.start(theirs.as_ref()).map_err(broken)?;
    drop(theirs);
    let pid = match reports.answer(&hold).await.map_err(broken)? {
        Report::Started(pid) => pid,
        Report::Failed(stage, errno) => {
            let source = io::Error::from_raw_os_error(errno);
            return Err(match (stage, command.directory()) {
                (Stage::Program, _) => SpawnError::executing(program(), source),
                (Stage::Directory, Some(directory)) => SpawnError::Directory { directory: directory.into(), source },
                (Stage::Setup | Stage::Directory, _) => broken(source),
            });
        }
        Report::Ready | Report::Exited(_) => return Err(broken(io::ErrorKind::InvalidData.into())),
    };
    Ok(Started { pid, hold, reports, stdin, stdout, stderr })
}

/// The command is dropped here, and with it our copy of the guardian's end.
fn execute(command: &Command, guardian: &Path, theirs: StdStream) -> io::Result<Child> {
    let task = Task {
        directory: command.directory().map(Into::into),
        socket: command.socket_variable().map(Into::into),
        open_files: open_files::before(),
        program: command.program().to_owned(),
        args: command.arguments().to_vec(),
    };
    let mut std = std::process::Command::new(guardian);
    std.arg0(NAME).args(task.to_args());
    configure_stdio(command, &mut std);
    std.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()
}

/// The hold on a guardian. Dropping it ends everything below the guardian.
#[derive(Debug)]
pub(crate) struct Hold {
    control: OwnedFd,
    pid: Pid,
    /// None once reaped.
    child: Mutex<Option<Child>>,
    /// The variable with the path of the process's socket, and its value. All descendants inherit it, so it is a mark
    /// that no other process has.
    socket: Option<(OsString, OsString)>,
}

impl Hold {
    pub(crate) fn terminate(&self) {
        if self.lock().is_some() {
            self.order(Order::Terminate);
        }
    }

    pub(crate) fn kill(&self) {
        if self.lock().is_some() {
            self.order(Order::Kill);
        }
    }

    /// Orders the start. The process reads from `stdin`, or from the null device.
    fn start(&self, stdin: Option<&OwnedFd>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<_> = stdin.map(AsFd::as_fd).into_iter().collect();
        if !descriptors.is_empty() && !attached.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let order = [Order::Start.to_byte()];
        loop {
            match sendmsg(&self.control, &[IoSlice::new(&order)], &mut attached, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends an order to a guardian that is not reaped, and SIGCONT, in case it is stopped. A guardian that is gone
    /// cannot follow it, and its end was seen.
    fn order(&self, order: Order) {
        let byte = [order.to_byte()];
        while rustix::net::send(&self.control, &byte, SendFlags::NOSIGNAL) == Err(Errno::INTR) {}
        let _ = kill_process(self.pid, Signal::CONT);
    }

    pub(crate) fn end_now(&self) {
        let Some(mut child) = self.lock().take() else { return };
        self.order(Order::Kill);
        let limit = Timespec { tv_sec: 0, tv_nsec: DROP_TIMEOUT.subsec_nanos().into() };
        // The guardian's end of the socket closes when it exits.
        let mut gone = [PollFd::new(&self.control, PollFlags::RDHUP)];
        let done = poll(&mut gone, Some(&limit)).is_ok_and(|ready| ready > 0);
        if done {
            let _ = child.wait();
        } else {
            // The guardian waits for the kernel. It will end later, and must not become a zombie then.
            let reaper = std::thread::Builder::new().name("protomcp-reaper".into());
            let _ = reaper.spawn(move || child.wait());
        }
    }

    /// The guardian is dead and its tool process with it; its other descendants may live. They are in their session, or
    /// have the path of the socket in their environment.
    pub(crate) fn sweep(&self) {
        // Not reaped yet, so the session still has its number.
        if let Some(child) = self.lock().as_mut() {
            let mark = self.socket.as_ref().map(|(name, path)| [name.as_bytes(), b"=", path.as_bytes()].concat());
            kill_remains(self.pid, mark.as_deref());
            let _ = child.kill();
        }
    }

    pub(crate) fn reap(&self) -> bool {
        let mut slot = self.lock();
        match slot.as_mut().map(Child::try_wait) {
            Some(Ok(None)) => false,
            None | Some(Ok(Some(_)) | Err(_)) => {
                *slot = None;
                true
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// The reports of a guardian.
#[derive(Debug)]
pub(crate) struct Reports {
    socket: UnixStream,
    partial: [u8; Report::SIZE],
    filled: usize,
}

impl Reports {
    fn new(socket: UnixStream) -> Self {
        Self { socket, partial: [0; Report::SIZE], filled: 0 }
    }

    /// The next report, or `None` at the end of the stream.
    async fn next(&mut self) -> io::Result<Option<Report>> {
        while self.filled < Report::SIZE {
            match self.socket.read(&mut self.partial[self.filled..]).await {
                Ok(0) => return Ok(None),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.filled = 0;
        Report::from_bytes(self.partial).map(Some)
    }

    /// The next report, which comes soon. A guardian without one is killed with its descendants: it does not follow the
    /// protocol, so it cannot be ordered to end.
    async fn answer(&mut self, hold: &Hold) -> io::Result<Report> {
        let failed = |kind, reason| Err(io::Error::new(kind, reason));
        let answer = match tokio::time::timeout(ANSWER_TIMEOUT, self.next()).await {
            Ok(Ok(Some(report))) => Ok(report),
            Ok(Ok(None)) => failed(io::ErrorKind::UnexpectedEof, "it ended without an answer: it is not a guardian"),
            Ok(Err(error)) => Err(error),
            Err(_) => failed(io::ErrorKind::TimedOut, "it did not answer: it is not a guardian"),
        };
        answer.inspect_err(|_| hold.sweep())
    }

    pub(crate) async fn ended(&mut self) -> io::Result<Status> {
        match self.next().await? {
            Some(Report::Exited(status)) => Ok(status),
            Some(Report::Ready | Report::Started(_) | Report::Failed(..)) => Err(io::ErrorKind::InvalidData.into()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(crate) async fn closed(&mut self) {
        while let Ok(Some(_)) = self.next().await {}
    }
}
