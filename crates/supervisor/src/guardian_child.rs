//! The bridge's side of a guardian: starts it, sends orders, receives reports.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::UnixStream;

use crate::command::Command;
use crate::error::SpawnError;
use crate::exit::Status;
use crate::guardian::assignment::Assignment;
use crate::guardian::descendants::kill_remains;
use crate::guardian::preforked::Preforked;
use crate::guardian::protocol::{NAME, Order, Report, Stage, Task};
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
    let control = OwnedFd::from(ours.try_clone().map_err(other)?);
    let mut reports = Reports::new(ours).map_err(other)?;
    let mut child = execute(command, guardian, theirs).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => broken(source),
        _ => other(source),
    })?;
    let stdout = child.stdout.take().expect("standard output was asked for as a pipe");
    let stderr = child.stderr.take().expect("standard error was asked for as a pipe");
    let hold = Hold::new(control, Pid::from_child(&child), command);
    reports.ready(&hold).await.map_err(broken)?;
    Ok(Waiting { hold, reports, stdout, stderr })
}

/// Gives the command to a guardian that was forked before it was known.
///
/// # Errors
///
/// If the guardian is gone, or the command cannot be a message. The guardian ends then.
pub(crate) async fn assign(command: &Command, preforked: Preforked) -> io::Result<Waiting> {
    let Preforked { control, pid } = preforked;
    let ours = control.try_clone();
    let hold = Hold::new(control.into(), pid, command);
    let mut reports = Reports::new(ours?)?;
    let message = Assignment::of(command).to_bytes().ok_or(io::ErrorKind::InvalidInput)?;
    let (stdout, its_stdout) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, its_stderr) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    reports.send(&message, &[its_stdout.as_fd(), its_stderr.as_fd()]).await?;
    drop((its_stdout, its_stderr));
    reports.ready(&hold).await?;
    Ok(Waiting { hold, reports, stdout: stdout.into(), stderr: stderr.into() })
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
    let mut std = std::process::Command::new(guardian);
    std.arg0(NAME).args(Task::of(command).to_args());
    configure_stdio(command, &mut std);
    std.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()
}

/// The hold on a guardian. Dropping it ends everything below the guardian.
#[derive(Debug)]
pub(crate) struct Hold {
    control: OwnedFd,
    pid: Pid,
    /// A reaped guardian has lost its process id.
    is_reaped: Mutex<bool>,
    /// The variable with the path of the process's socket, and its value. All descendants inherit it, so it is a mark
    /// that no other process has.
    socket: Option<(OsString, OsString)>,
}

impl Hold {
    fn new(control: OwnedFd, pid: Pid, command: &Command) -> Self {
        let variable = |name: &OsStr| Some((name.to_owned(), command.variables().get(name)?.clone()));
        let socket = command.socket_variable().and_then(variable);
        Self { control, pid, is_reaped: Mutex::new(false), socket }
    }

    pub(crate) fn terminate(&self) {
        if !*self.lock() {
            self.order(Order::Terminate);
        }
    }

    pub(crate) fn kill(&self) {
        if !*self.lock() {
            self.order(Order::Kill);
        }
    }

    /// Orders the start. The process reads from `stdin`, or from the null device.
    fn start(&self, stdin: Option<&OwnedFd>) -> io::Result<()> {
        let descriptors: Vec<_> = stdin.map(AsFd::as_fd).into_iter().collect();
        loop {
            match send_with(&self.control, &[Order::Start.to_byte()], &descriptors) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => return sent.map(|_| ()),
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
        if std::mem::replace(&mut *self.lock(), true) {
            return;
        }
        let pid = self.pid;
        let wait = move || while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(Errno::INTR)) {};
        self.order(Order::Kill);
        let limit = Timespec { tv_sec: 0, tv_nsec: DROP_TIMEOUT.subsec_nanos().into() };
        // The guardian's end of the socket closes when it exits.
        let mut gone = [PollFd::new(&self.control, PollFlags::RDHUP)];
        let done = poll(&mut gone, Some(&limit)).is_ok_and(|ready| ready > 0);
        if done {
            wait();
        } else {
            // The guardian waits for the kernel. It will end later, and must not become a zombie then.
            let reaper = std::thread::Builder::new().name("protomcp-reaper".into());
            let _ = reaper.spawn(wait);
        }
    }

    /// The guardian is dead and its tool process with it; its other descendants may live. They are in their session, or
    /// have the path of the socket in their environment.
    pub(crate) fn sweep(&self) {
        // Not reaped yet, so the session still has its number.
        if !*self.lock() {
            let mark = self.socket.as_ref().map(|(name, path)| [name.as_bytes(), b"=", path.as_bytes()].concat());
            kill_remains(self.pid, mark.as_deref());
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }

    pub(crate) fn reap(&self) -> bool {
        let mut is_reaped = self.lock();
        *is_reaped = *is_reaped || !matches!(waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None));
        *is_reaped
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, bool> {
        self.is_reaped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends bytes, and these descriptors with the first of them; returns the number of the bytes that were sent.
fn send_with(control: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !attached.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    Ok(sendmsg(control, &[IoSlice::new(bytes)], &mut attached, SendFlags::NOSIGNAL)?)
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
    fn new(socket: StdStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UnixStream::from_std(socket)?, partial: [0; Report::SIZE], filled: 0 })
    }

    /// Sends a message with two descriptors.
    async fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let all = async {
            let (mut rest, mut descriptors) = (message, descriptors);
            while !rest.is_empty() {
                let sent =
                    self.socket.async_io(Interest::WRITABLE, || send_with(&self.socket, rest, descriptors)).await?;
                (rest, descriptors) = (&rest[sent..], &[]);
            }
            Ok(())
        };
        tokio::time::timeout(ANSWER_TIMEOUT, all).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Waits until the guardian is ready.
    async fn ready(&mut self, hold: &Hold) -> io::Result<()> {
        match self.answer(hold).await? {
            Report::Ready => Ok(()),
            Report::Failed(_, errno) => Err(io::Error::from_raw_os_error(errno)),
            Report::Started(_) | Report::Exited(_) => Err(io::ErrorKind::InvalidData.into()),
        }
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
