//! A real `redis-server` of a test, and servers that share their sessions in it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::launch::Launch;
use crate::sandbox::Sandbox;
use crate::web::Web;
use protomcp_testing::eventually;

/// A `redis-server` on a socket in its own folder, which is killed at the end.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    sandbox: Sandbox,
}

impl Redis {
    /// Starts it, empty.
    ///
    /// # Panics
    /// If it is not installed, or does not start.
    pub fn start() -> Self {
        let sandbox = Sandbox::new();
        Self { process: run(&sandbox), sandbox }
    }

    /// The URL of the store.
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.sandbox.path("s").display())
    }

    /// Its folder.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Kills it, with all that it knows.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub fn stop(&mut self) {
        self.process.kill().expect("it is a child");
        self.process.wait().expect("it is a child");
        // It may have saved something earlier.
        drop(fs::remove_file(self.sandbox.path("dump.rdb")));
    }

    /// Lets it save all that it knows, and end.
    ///
    /// # Panics
    /// If it does not.
    pub fn stop_with_data(&mut self) {
        let mut socket = UnixStream::connect(self.sandbox.path("s")).expect("redis-server listens");
        socket.write_all(b"SHUTDOWN SAVE\r\n").expect("it takes a command");
        assert!(self.process.wait().expect("it is a child").success());
    }

    /// Sends it a signal, such as one that suspends it.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw).expect("a process id is positive");
        kill_process(pid, signal).expect("it is a child");
    }

    /// Starts it after [`Redis::stop`], or after [`Redis::stop_with_data`] with what it has saved.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&mut self) {
        self.process = run(&self.sandbox);
    }

    /// `pmcp run FILE` in this sandbox over HTTP, which shares its sessions here.
    pub fn replica(&self, sandbox: &Sandbox, file: &str) -> Launch {
        let launch = sandbox.pmcp(&["run", file, "--transport", "http"]);
        launch.arg("--sealing-key-file").arg(self.key()).env("PMCP_STORE", self.url())
    }

    /// Starts `pmcp run` with a tool file of the fixtures and these flags, which shares its sessions here.
    ///
    /// # Panics
    /// If it does not announce its address.
    pub fn serve(&self, fixture: &str, flags: &[&str]) -> Web {
        let key = self.key();
        let shared = ["--transport", "http", "--sealing-key-file", &*key];
        Web::start_with(fixture, &[&shared[..], flags].concat(), &[("PMCP_STORE", &self.url())])
    }

    /// The file with the key of all servers.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn key(&self) -> String {
        let key = self.sandbox.path("key");
        if !key.exists() {
            self.sandbox.write("key", [7; 32]);
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("it is our file");
        }
        key.to_string_lossy().into_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have been stopped.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn run(sandbox: &Sandbox) -> Child {
    let socket = sandbox.path("s");
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
    command.arg("--dir").arg(sandbox.path(""));
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("redis-server starts");
    eventually("redis-server listens", || {
        let ended = process.try_wait().expect("it is a child");
        assert!(ended.is_none(), "redis-server has ended: {ended:?}");
        UnixStream::connect(&socket).ok()
    });
    process
}
