//! The end of a process, in values and in words.

use std::fmt;
use std::time::Duration;

/// The end of a process, with the details that a person needs to understand it.
///
/// `Display` gives the status alone ("exited with status 1"), ready to follow the name of the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit code or signal.
    pub status: Status,
    /// The last lines of standard error, oldest first, at most [`STDERR_TAIL_LINES`](crate::tail::STDERR_TAIL_LINES).
    pub stderr_tail: Vec<String>,
    /// Time from the start of the process to its end.
    pub uptime: Duration,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.status.fmt(f)
    }
}

/// Exit code or signal of an ended process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It exited by itself with this code; 0 is success.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// SIGKILL was sent, but the end was not reported: the kernel holds the process, or its guardian was killed too.
    Unknown,
}

impl Status {
    /// True if the process exited by itself with code 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with status {code}"),
            Self::Signal(signal) => match signal_name(signal) {
                Some(name) => write!(f, "was killed by signal {signal} ({name})"),
                None => write!(f, "was killed by signal {signal}"),
            },
            Self::Unknown => f.write_str("was killed, but its end was not reported"),
        }
    }
}

#[cfg(unix)]
impl From<std::process::ExitStatus> for Status {
    fn from(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

/// The names of signals that end processes in practice. Numbers differ between systems, so they come from the system.
fn signal_name(signal: i32) -> Option<&'static str> {
    NAMES.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name)
}

const NAMES: &[(i32, &str)] = &[
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
    (libc::SIGSYS, "SIGSYS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_reads_like_a_sentence() {
        let table = [
            (Status::Code(0), "exited with status 0"),
            (Status::Code(101), "exited with status 101"),
            (Status::Signal(9), "was killed by signal 9 (SIGKILL)"),
            (Status::Signal(15), "was killed by signal 15 (SIGTERM)"),
            (Status::Signal(11), "was killed by signal 11 (SIGSEGV)"),
            (Status::Signal(63), "was killed by signal 63"),
            (Status::Unknown, "was killed, but its end was not reported"),
        ];
        for (status, text) in table {
            let exit = Exit { status, stderr_tail: vec!["noise".into()], uptime: Duration::ZERO };
            assert_eq!(exit.to_string(), text);
            assert_eq!(status.success(), text.ends_with("status 0"));
        }
    }
}
