//! A process that was just started.

use std::process::{ChildStderr, ChildStdout, Stdio};

use crate::command::Command;

/// A running process, the hold on it and the source of its end.
#[derive(Debug)]
pub(crate) struct Started<H, R> {
    pub(crate) pid: u32,
    pub(crate) hold: H,
    pub(crate) reports: R,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Sets the environment and the standard streams: input is empty, outputs are pipes.
pub(crate) fn configure_stdio(command: &Command, std: &mut std::process::Command) {
    std.envs(command.variables()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}
