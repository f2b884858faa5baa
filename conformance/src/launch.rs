//! Starting `pmcp` the way a host does.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::host::Host;
use crate::orphans::MARKER;
use crate::programs::{caches, peers, pmcp};
use crate::sandbox::Sandbox;

/// `pmcp`, its arguments and its environment.
#[derive(Debug)]
pub struct Launch {
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    unset: Vec<OsString>,
    open_files: Option<u64>,
    user: Option<u32>,
    program: PathBuf,
    sandbox: Sandbox,
}

impl Sandbox {
    /// Prepares `pmcp` with these arguments, in the working directory.
    pub fn pmcp(&self, args: &[&str]) -> Launch {
        let launch = Launch {
            args: args.iter().map(OsString::from).collect(),
            env: Vec::new(),
            unset: Vec::new(),
            open_files: None,
            user: None,
            program: pmcp().to_owned(),
            sandbox: self.clone(),
        };
        launch
            .env(MARKER, self.marker())
            .env("XDG_RUNTIME_DIR", self.runtime())
            .env("XDG_CACHE_HOME", caches())
            .env("PROTOMCP_PYTHON", peers().join("py/bin/python"))
            .env("WORK_LOG", self.path("work.log"))
    }
}

impl Launch {
    /// Starts another program instead, such as a server without a bridge.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets a variable, replacing an earlier value.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.env.retain(|(known, _)| *known != name);
        self.env.push((name, value.into()));
        self
    }

    /// Removes a variable from the environment.
    pub fn without(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.unset.push(name.into());
        self
    }

    /// Sets the soft limit of open files.
    pub fn open_files(mut self, soft: u64) -> Self {
        self.open_files = Some(soft);
        self
    }

    /// Starts it as this user and group, which takes root.
    pub fn user(mut self, id: u32) -> Self {
        self.user = Some(id);
        self
    }

    /// Starts it with its three streams piped to a [`Host`].
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(self) -> Host {
        let sandbox = self.sandbox.clone();
        Host::new(self.command().spawn().expect("pmcp starts"), sandbox)
    }

    /// The command, for a test that wires the streams differently.
    pub fn command(self) -> Command {
        let mut command = match self.open_files {
            None => Command::new(&self.program),
            Some(soft) => {
                // The program replaces the shell.
                let mut command = Command::new("sh");
                command.args(["-c", &format!("ulimit -Sn {soft} && exec \"$0\" \"$@\"")]).arg(&self.program);
                command
            }
        };
        if let Some(id) = self.user {
            command.uid(id).gid(id);
        }
        command.args(self.args).current_dir(self.sandbox.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in self.unset {
            command.env_remove(name);
        }
        command.envs(self.env);
        command
    }
}
