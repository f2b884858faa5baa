//! The work of a guardian, from its first to its last instruction.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal};

use crate::exit::Status;
use crate::guardian::assignment::{Assignment, Environment, HEAD, length};
use crate::guardian::descendants::{Leftover, end_all, reap};
use crate::guardian::protocol::{NAME, Order, Report, Stage, Task};
use crate::guardian::socket_cleanup::SocketFile;
use crate::{open_files, os};

/// Serves a program that was executed as a guardian, until nothing is left to guard. Returns the exit code, which is not
/// read.
pub(super) fn serve(args: impl Iterator<Item = std::ffi::OsString>) -> i32 {
    let Some(task) = Task::from_args(args) else { return 2 };
    let Ok(control) = control_of_stdin() else { return 2 };
    match become_guardian() {
        Ok(children) => guard(control, children, Assignment { task, environment: Environment::of_the_guardian() }),
        Err(error) => fail(&control, Stage::Setup, &error),
    }
}

/// Serves in a fork, as [`serve`] does. The descriptors of the program are closed first: its client waits for the end of its
/// output.
pub(super) fn serve_preforked(control: OwnedFd) -> i32 {
    let Ok(control) = let_go_of_streams().and_then(|()| keep_only(control)) else { return 2 };
    os::set_command_line(NAME);
    let children = match become_guardian() {
        Ok(children) => children,
        Err(error) => return fail(&control, Stage::Setup, &error),
    };
    match assignment(&control) {
        Ok(assignment) => guard(control, children, assignment),
        // The bridge has ended without a process.
        Err(_) => 0,
    }
}

/// Starts the tool process when the bridge orders it, and ends everything when it is time.
fn guard(control: OwnedFd, children: OwnedFd, assignment: Assignment) -> i32 {
    let Assignment { task, environment } = assignment;
    let socket = || SocketFile::at(environment.value(task.socket.as_deref()?)?.into());
    report(&control, Report::Ready);
    let (first, stdin) = first_order(&control);
    if first != Order::Start {
        remove_socket(socket(), &control);
        return 0;
    }
    if let Some(directory) = &task.directory
        && let Err(error) = rustix::process::chdir(directory)
    {
        return fail(&control, Stage::Directory, &error.into());
    }
    if let Some(limit) = task.open_files
        && let Err(error) = open_files::set(limit)
    {
        return fail(&control, Stage::Setup, &error);
    }
    let socket = socket();
    let mut command = Command::new(&task.program);
    command.args(&task.args);
    environment.apply(&mut command);
    os::prepare_child(&mut command, None);
    if let Some(stdin) = stdin
        && let Err(error) = rustix::stdio::dup2_stdin(stdin)
    {
        return fail(&control, Stage::Setup, &error.into());
    }
    let tool = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            let code = fail(&control, Stage::Program, &error);
            remove_socket(socket, &control);
            return code;
        }
    };
    report(&control, Report::Started(tool.as_raw_pid().cast_unsigned()));
    // The streams must end with the tool process and its children, not with the guardian.
    let silent = let_go_of_streams();
    let mut guard = Guard { control, children, tool, running: true };
    if silent.is_ok() {
        guard.watch();
    }
    guard.end();
    remove_socket(socket, &guard.control);
    0
}

/// Removes the socket file, if the bridge has ended without doing so.
fn remove_socket(socket: Option<SocketFile>, control: &OwnedFd) {
    if let Some(socket) = socket {
        socket.remove(|| is_gone(control));
    }
}

/// Moves the socket from standard input to a descriptor that no child inherits, and closes every other one.
fn control_of_stdin() -> io::Result<OwnedFd> {
    let stdin = rustix::stdio::stdin();
    if FileType::from_raw_mode(rustix::fs::fstat(stdin)?.st_mode) != FileType::Socket {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let control = keep_only(rustix::io::fcntl_dupfd_cloexec(stdin, 3)?)?;
    rustix::stdio::dup2_stdin(null()?)?;
    Ok(control)
}

/// Closes every descriptor but the three standard ones and this one.
fn keep_only(control: OwnedFd) -> io::Result<OwnedFd> {
    let number = control.as_raw_fd().cast_unsigned();
    os::close_descriptors(3, number - 1);
    os::close_descriptors(number + 1, u32::MAX);
    Ok(control)
}

/// Leaves the terminal, adopts orphans, and turns signals into readable descriptors.
fn become_guardian() -> io::Result<OwnedFd> {
    // The bridge decides when to stop, so SIGINT, SIGTERM and SIGHUP stay blocked for ever.
    os::block_signals();
    // A bridge that was started with SIGCHLD ignored would otherwise cost us the exit status.
    os::default_signals();
    let children = os::child_signals()?;
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // A stopped guardian sees the end of the bridge, too. The signal is also sent when the thread that started us ends,
    // and has no effect then.
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    // Only for people: otherwise `ps` shows the name of the link through which we were executed.
    let _ = std::fs::write("/proc/self/comm", NAME);
    Ok(children)
}

fn let_go_of_streams() -> io::Result<()> {
    let null = null()?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// If the bridge is gone, the end of the stream tells us.
fn report(control: &OwnedFd, report: Report) {
    let bytes = report.to_bytes();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match rustix::io::write(control, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn fail(control: &OwnedFd, stage: Stage, error: &io::Error) -> i32 {
    report(control, Report::Failed(stage, error.raw_os_error().unwrap_or(libc::EIO)));
    1
}

/// Waits for the first order, and for the descriptor that comes with it.
fn first_order(control: &OwnedFd) -> (Order, Option<OwnedFd>) {
    let mut byte = [0];
    match receive(control, &mut byte) {
        Ok(mut descriptors) => (Order::from_byte(byte[0]), descriptors.pop()),
        Err(_) => (Order::Kill, None),
    }
}

/// Waits for the assignment of a forked guardian, and makes the outputs that come with it its own.
fn assignment(control: &OwnedFd) -> io::Result<Assignment> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut head = [0; HEAD];
    // An order to end everything has one byte.
    let outputs = receive(control, &mut head[..1])?;
    if head[0] == Order::Assign.to_byte() {
        receive(control, &mut head[1..])?;
    }
    let mut rest = vec![0; length(head).ok_or_else(invalid)?];
    receive(control, &mut rest)?;
    let [stdout, stderr] = &outputs[..] else { return Err(invalid()) };
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)?;
    Assignment::from_bytes(&rest).ok_or_else(invalid)
}

/// Fills the buffer, and returns the descriptors that come with its bytes: two at most in one message.
fn receive(control: &OwnedFd, buffer: &mut [u8]) -> io::Result<Vec<OwnedFd>> {
    let (mut filled, mut descriptors) = (0, Vec::new());
    while filled < buffer.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut attached = RecvAncillaryBuffer::new(&mut space);
        let mut rest = [IoSliceMut::new(&mut buffer[filled..])];
        match recvmsg(control, &mut rest, &mut attached, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) if received.bytes == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(received) => filled += received.bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        descriptors.extend(
            attached
                .drain()
                .filter_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                    _ => None,
                })
                .flatten(),
        );
    }
    Ok(descriptors)
}

/// Waits for the next order.
fn order(control: &OwnedFd) -> Order {
    let mut byte = [0];
    loop {
        match rustix::io::read(control, &mut byte) {
            Ok(1) => return Order::from_byte(byte[0]),
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return Order::Kill,
        }
    }
}

/// True if the bridge has closed its end or is gone.
fn is_gone(control: &OwnedFd) -> bool {
    let mut end = [PollFd::new(control, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut end, Some(&now)) != Ok(0)
}

struct Guard {
    control: OwnedFd,
    children: OwnedFd,
    tool: Pid,
    /// True if the tool process has not been reaped, so that its id is still its own.
    running: bool,
}

impl Guard {
    /// Returns when it is time to end everything: the tool process has ended, the bridge orders it, or the bridge is
    /// gone.
    fn watch(&mut self) {
        while self.running {
            let mut ready = [PollFd::new(&self.control, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) => {}
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(_) => return,
            }
            // Any event counts, also an error or an invalid descriptor: after any of them no order can arrive.
            let (ordered, ended) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
            if ended {
                os::drain(&self.children);
                self.reap();
            }
            if ordered && self.running {
                match order(&self.control) {
                    Order::Terminate => self.terminate(),
                    Order::Assign | Order::Start | Order::Kill => return,
                }
            }
        }
    }

    /// SIGCONT as well: otherwise a stopped process could not handle the signal.
    fn terminate(&self) {
        for signal in [Signal::TERM, Signal::CONT] {
            let _ = rustix::process::kill_process_group(self.tool, signal);
        }
    }

    fn reap(&mut self) -> Leftover {
        let Self { control, tool, running, .. } = self;
        reap(|pid, status| note(control, *tool, running, pid, status))
    }

    fn end(&mut self) {
        let Self { control, children, tool, running } = self;
        end_all(children, |pid, status| note(control, *tool, running, pid, status));
    }
}

fn note(control: &OwnedFd, tool: Pid, running: &mut bool, pid: Pid, status: Status) {
    if pid == tool {
        *running = false;
        report(control, Report::Exited(status));
    }
}
