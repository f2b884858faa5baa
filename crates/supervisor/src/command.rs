//! The program to start, with its arguments, environment and guardian.
//!
//! A [`Command`] is plain data. It can be cloned and started as often as a restart needs it; nothing is resolved
//! before [`Process::spawn`](crate::process::Process::spawn) looks at it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// A program to start, built like [`std::process::Command`].
///
/// Standard input is the null device and standard output is captured by line, unless both are pipes
/// ([`Command::piped`]). Standard error is always captured by line.
///
/// ```
/// use protomcp_supervisor::Command;
///
/// let command = Command::new("python3").arg("tools.py").env("PROTOMCP_SOCKET", "/run/user/1000/pmcp/1.sock");
/// assert_eq!(command.program(), "python3");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    inherits_env: bool,
    directory: Option<PathBuf>,
    guardian: Option<Guardian>,
    socket: Option<OsString>,
    is_piped: bool,
}

impl Command {
    /// A command without arguments, in the caller's directory and with the caller's environment.
    ///
    /// If the caller's directory is removed or moved after the first start, and another one gets its path, later processes
    /// start in that one.
    ///
    /// A name without a slash is looked up in `PATH`; a relative path is relative to the directory of
    /// [`Command::current_dir`] where one is set.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherits_env: true,
            directory: None,
            guardian: None,
            socket: None,
            is_piped: false,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds an argument before the last one.
    #[must_use]
    pub fn arg_before_last(mut self, arg: impl Into<OsString>) -> Self {
        self.args.insert(self.args.len().saturating_sub(1), arg.into());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable on top of the inherited environment.
    ///
    /// The guardian runs with the same environment: values stay out of command lines, which every user of the
    /// machine can read.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Leaves the inherited environment out: the process gets the variables of [`Command::env`] alone, and its program is
    /// looked up in their `PATH`. The same holds for the guardian.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherits_env = false;
        self
    }

    /// Sets a variable to the path of a unix socket that belongs to the process. If the file still exists when the
    /// guardian has ended everything, and has no listener, the guardian removes it; so the socket is removed even if
    /// the caller was killed. Without a guardian this is an ordinary variable; of several such sockets only the last is
    /// removed.
    #[must_use]
    pub fn env_socket(mut self, name: impl Into<OsString>, path: impl Into<OsString>) -> Self {
        let name = name.into();
        self.socket = Some(name.clone());
        self.env(name, path)
    }

    /// Makes standard input and output pipes that [`Process::take_pipes`](crate::process::Process::take_pipes) returns.
    #[must_use]
    pub fn piped(mut self) -> Self {
        self.is_piped = true;
        self
    }

    /// Starts the process in this directory instead of the caller's.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Chooses the guardian; see [`Guardian`] for the default.
    #[must_use]
    pub fn guardian(mut self, guardian: Guardian) -> Self {
        self.guardian = Some(guardian);
        self
    }

    /// The program, as given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The arguments, without the program.
    pub fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// The value of a variable that was set with [`env`](Self::env).
    pub fn variable(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.env.get(name.as_ref()).map(OsString::as_os_str)
    }

    pub(crate) fn inherits_env(&self) -> bool {
        self.inherits_env
    }

    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.env
    }

    /// The variable with the path of a socket.
    pub(crate) fn socket_variable(&self) -> Option<&OsStr> {
        self.socket.as_deref()
    }

    pub(crate) fn is_piped(&self) -> bool {
        self.is_piped
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    pub(crate) fn chosen_guardian(&self) -> Option<&Guardian> {
        self.guardian.as_ref()
    }
}

/// Names variables but never shows their values: they may be secrets, and this text ends up in logs.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("socket", &self.socket)
            .field("directory", &self.directory)
            .field("guardian", &self.guardian)
            .finish()
    }
}

/// The guardian, which ensures that no part of the process outlives the bridge.
///
/// The default is `CurrentExe` if [`run_if_requested`](crate::guardian::run_if_requested) was called in this process,
/// and `None` otherwise. Guardians exist on Linux; elsewhere every choice means `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guardian {
    /// This program, executed again as the guardian. Its `main` must begin with
    /// [`run_if_requested`](crate::guardian::run_if_requested).
    CurrentExe,
    /// Another program that begins with [`run_if_requested`](crate::guardian::run_if_requested), such as `pmcp`.
    /// A name without a slash is looked up in `PATH`.
    Program(PathBuf),
    /// No guardian: a separate process group and, on Linux, the parent-death signal.
    ///
    /// Two cases remain: when the bridge is killed with SIGKILL, only the direct child dies with it; when the process
    /// is stopped, its descendants in other process groups survive.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_names_variables_and_hides_their_values() {
        let text = format!("{:?}", Command::new("tool").arg("--fast").env("API_TOKEN", "hunter2"));
        assert!(text.contains("API_TOKEN") && text.contains("--fast"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
