//! The protocol between bridge and guardian.
//!
//! The guardian's command line is `protomcp-guardian --protomcp-guardian-5 [--cwd DIR] [--socket VARIABLE]
//! [--open-files N] -- PROGRAM [ARG ...]`, where the variable holds the path of a socket that belongs to the process,
//! and the number is the soft limit of open files for it; its standard input is the socket of this protocol. Orders are
//! one byte, reports are six. The marker carries a version: both sides are normally one executable, but a guardian may
//! be another program of another version. A guardian that was forked receives the same as an
//! [assignment](crate::guardian::assignment), because it has no command line.
//!
//! The guardian reports that it is ready; then the bridge creates the socket and orders the start. So a bridge that is
//! killed at any moment leaves no socket file.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::command::Command;
use crate::exit::Status;
use crate::open_files;

/// The name of a guardian in process lists, so that killing `pmcp` by name does not hit it.
pub(crate) const NAME: &str = "protomcp-guardian";

/// First argument of a guardian.
pub(crate) const MARKER: &str = "--protomcp-guardian-5";

const CWD: &str = "--cwd";
const SOCKET: &str = "--socket";
const OPEN_FILES: &str = "--open-files";
const END_OF_OPTIONS: &str = "--";

/// The program that the guardian starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) directory: Option<PathBuf>,
    /// The variable with the path of a socket that belongs to the process. Every user can read a command line, so it
    /// does not hold the path itself.
    pub(crate) socket: Option<OsString>,
    /// The soft limit of open files, if it differs from the bridge's.
    pub(crate) open_files: Option<u64>,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
}

impl Task {
    pub(crate) fn of(command: &Command) -> Self {
        Self {
            directory: command.directory().map(Into::into),
            socket: command.socket_variable().map(Into::into),
            open_files: open_files::before(),
            program: command.program().to_owned(),
            args: command.arguments().to_vec(),
        }
    }

    /// The guardian's arguments, the marker first.
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let mut args = vec![OsString::from(MARKER)];
        if let Some(directory) = &self.directory {
            args.extend([CWD.into(), directory.into()]);
        }
        if let Some(variable) = &self.socket {
            args.extend([SOCKET.into(), variable.clone()]);
        }
        if let Some(limit) = self.open_files {
            args.extend([OPEN_FILES.into(), limit.to_string().into()]);
        }
        args.extend([END_OF_OPTIONS.into(), self.program.clone()]);
        args.extend_from_slice(&self.args);
        args
    }

    /// Reads the arguments after the marker.
    pub(crate) fn from_args(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut next = args.next()?;
        let mut directory = None;
        if next == CWD {
            directory = Some(args.next()?.into());
            next = args.next()?;
        }
        let mut socket = None;
        if next == SOCKET {
            socket = Some(args.next()?);
            next = args.next()?;
        }
        let mut open_files = None;
        if next == OPEN_FILES {
            open_files = Some(args.next()?.to_str()?.parse().ok()?);
            next = args.next()?;
        }
        if next != END_OF_OPTIONS {
            return None;
        }
        Some(Self { directory, socket, open_files, program: args.next()?, args: args.collect() })
    }
}

/// From the bridge to the guardian. The end of the stream means [`Order::Kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Take this command. The first order to a forked guardian; the [assignment](crate::guardian::assignment) follows.
    Assign,
    /// Start the tool process. The first order, after [`Report::Ready`]. A descriptor that comes with it becomes the
    /// standard input of the process.
    Start,
    /// SIGTERM to the group of the tool process.
    Terminate,
    /// End everything, then exit.
    Kill,
}

impl Order {
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Assign => b'A',
            Self::Start => b'S',
            Self::Terminate => b'T',
            Self::Kill => b'K',
        }
    }

    /// An unknown byte is treated as the end of the stream: an orphan would be worse than a missing tool.
    pub(crate) fn from_byte(byte: u8) -> Self {
        match byte {
            b'A' => Self::Assign,
            b'S' => Self::Start,
            b'T' => Self::Terminate,
            _ => Self::Kill,
        }
    }
}

/// From the guardian to the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The guardian waits for [`Order::Start`]. From now on it removes the socket file if the bridge is killed.
    Ready,
    /// The tool process runs under this process id.
    Started(u32),
    /// The start failed for this reason (an error number of the system). Nothing follows.
    Failed(Stage, i32),
    /// The tool process has ended. Its descendants are being killed; the end of the stream reports completion.
    Exited(Status),
}

/// The step at which a guardian failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Becoming a guardian.
    Setup,
    /// Entering the directory.
    Directory,
    /// Executing the program.
    Program,
}

impl Report {
    /// Bytes of one report.
    pub(crate) const SIZE: usize = 6;

    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let (tag, detail, number) = match self {
            Self::Ready => (b'R', 0, 0),
            Self::Started(pid) => (b'S', 0, pid.cast_signed()),
            Self::Failed(Stage::Setup, errno) => (b'F', b's', errno),
            Self::Failed(Stage::Directory, errno) => (b'F', b'd', errno),
            Self::Failed(Stage::Program, errno) => (b'F', b'p', errno),
            Self::Exited(Status::Code(code)) => (b'E', b'c', code),
            Self::Exited(Status::Signal(signal)) => (b'E', b's', signal),
            Self::Exited(Status::Unknown) => (b'E', b'u', 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [tag, detail, a, b, c, d]
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::SIZE]) -> io::Result<Self> {
        let [tag, detail, a, b, c, d] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        Ok(match (tag, detail) {
            (b'R', 0) => Self::Ready,
            (b'S', 0) => Self::Started(number.cast_unsigned()),
            (b'F', b's') => Self::Failed(Stage::Setup, number),
            (b'F', b'd') => Self::Failed(Stage::Directory, number),
            (b'F', b'p') => Self::Failed(Stage::Program, number),
            (b'E', b'c') => Self::Exited(Status::Code(number)),
            (b'E', b's') => Self::Exited(Status::Signal(number)),
            (b'E', b'u') => Self::Exited(Status::Unknown),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the guardian sent an unknown report")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_the_command_line() {
        for task in [
            Task { directory: None, socket: None, open_files: None, program: "tool".into(), args: vec![] },
            Task {
                directory: None,
                socket: Some("SOCKET".into()),
                open_files: Some(1024),
                program: "tool".into(),
                args: vec!["--socket".into()],
            },
            Task {
                directory: Some("/srv/tools".into()),
                socket: Some("--".into()),
                open_files: Some(u64::MAX),
                program: "--".into(),
                args: vec!["--cwd".into(), "".into()],
            },
        ] {
            let args = task.to_args();
            assert_eq!(args[0], MARKER);
            assert_eq!(Task::from_args(args.into_iter().skip(1)), Some(task));
        }
    }

    #[test]
    fn a_command_line_that_is_not_ours_is_refused() {
        for args in [
            &[][..],
            &["--"],
            &["tool"],
            &["--cwd"],
            &["--cwd", "/"],
            &["--cwd", "/", "tool"],
            &["--socket"],
            &["--open-files"],
            &["--open-files", "many", "--", "tool"],
            &["--open-files", "-1", "--", "tool"],
        ] {
            assert_eq!(Task::from_args(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }

    #[test]
    fn reports_survive_the_socket() {
        for report in [
            Report::Ready,
            Report::Started(u32::MAX),
            Report::Failed(Stage::Setup, 1),
            Report::Failed(Stage::Directory, 2),
            Report::Failed(Stage::Program, 13),
            Report::Exited(Status::Code(-1)),
            Report::Exited(Status::Signal(9)),
            Report::Exited(Status::Unknown),
        ] {
            assert_eq!(Report::from_bytes(report.to_bytes()).unwrap(), report);
        }
        assert!(Report::from_bytes(*b"?c\0\0\0\0").is_err());
    }

    #[test]
    fn orders_survive_the_socket_and_nonsense_kills() {
        for order in [Order::Assign, Order::Start, Order::Terminate, Order::Kill] {
            assert_eq!(Order::from_byte(order.to_byte()), order);
        }
        assert_eq!(Order::from_byte(0), Order::Kill);
    }
}
