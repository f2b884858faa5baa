//! A process that was just started.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdout, Stdio};

use crate::command::Command;

/// A running process, the hold on it and the source of its end.
#[derive(Debug)]
pub(crate) struct Started<H, R> {
    pub(crate) pid: u32,
    pub(crate) hold: H,
    pub(crate) reports: R,
    /// The writing end of standard input, if that is a pipe.
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// The variables by which systemd talks to the process that it has started, and to no other (sd_listen_fds(3), sd_notify(3)).
const OF_THE_PARENT: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

/// Sets the environment and the standard streams: input is empty unless it is set later, outputs are pipes.
pub(crate) fn configure_stdio(command: &Command, std: &mut std::process::Command) {
    set_variables(command.inherits_env(), command.variables(), std);
    std.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Sets the environment: these variables, and the inherited ones or no others.
pub(crate) fn set_variables<'a>(
    is_inherited: bool,
    variables: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
    std: &mut std::process::Command,
) {
    if !is_inherited {
        std.env_clear();
    }
    for variable in OF_THE_PARENT {
        std.env_remove(variable);
    }
    std.envs(variables);
}
