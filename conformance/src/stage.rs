//! The control socket for the relays of one `pmcp`, one relay for each tool process that it starts.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::launch::Launch;
use crate::peer::Peer;
use crate::programs::relay;
use crate::sandbox::Sandbox;
use protomcp_testing::patience;

/// A control socket that relays connect to.
#[derive(Debug)]
pub struct Stage {
    listener: UnixListener,
    path: PathBuf,
}

/// The facts that a relay reports before it connects to the bridge.
#[derive(Debug, Clone)]
pub struct Hello {
    /// Its process id.
    pub pid: u32,
    /// Its `PROTOMCP_SOCKET`.
    pub socket: PathBuf,
    /// The permission bits of that socket.
    pub socket_mode: u32,
    /// The permission bits of the socket's directory.
    pub folder_mode: u32,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Stage {
    /// Listens in the sandbox.
    ///
    /// # Panics
    ///
    /// If the sandbox already has a stage.
    pub fn new(sandbox: &Sandbox) -> Self {
        let path = sandbox.path("control");
        let listener = UnixListener::bind(&path).expect("the sandbox has no stage yet");
        listener.set_nonblocking(true).expect("a listener can be told not to block");
        Self { listener, path }
    }

    /// Prepares `pmcp` with `args` and lets its tool processes report here.
    ///
    /// The working directory then holds two tool files to name in `args`, `./relay` and `relay.py`: the bridge treats a
    /// Python file with more caution than a program.
    pub fn pmcp(&self, sandbox: &Sandbox, args: &[&str]) -> Launch {
        let script = sandbox.write("relay", "#!/bin/sh\nexec \"$PMCP_TEST_RELAY\" \"$@\"\n");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("a file of ours can be made executable");
        sandbox.write("relay.py", "import os, sys\nos.execv(os.environ['PMCP_TEST_RELAY'], sys.argv)\n");
        sandbox.pmcp(args).env("PMCP_TEST_RELAY", relay()).env("PMCP_TEST_CONTROL", &self.path)
    }

    /// Waits for the next tool process.
    ///
    /// # Panics
    ///
    /// If none reports in time.
    pub fn accept(&self) -> Peer {
        self.accept_within(patience()).expect("no tool process was started in time")
    }

    /// Waits at most `time` for the next tool process.
    pub fn accept_within(&self, time: Duration) -> Option<Peer> {
        let deadline = Instant::now() + time;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => return Some(greet(stream)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("the control socket failed: {error}"),
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn greet(stream: UnixStream) -> Peer {
    stream.set_nonblocking(false).expect("a stream can be told to block");
    stream.set_read_timeout(Some(patience())).expect("a timeout can be set");
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(1, &stream);
    reader.read_line(&mut line).expect("a relay says hello");
    let hello: Value = serde_json::from_str(&line).expect("a relay says hello in JSON");
    let text = |name: &str| hello[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| u32::try_from(hello[name].as_u64().unwrap_or_default()).expect("a small number");
    let hello = Hello {
        pid: number("pid"),
        socket: text("socket").into(),
        socket_mode: number("socket_mode"),
        folder_mode: number("folder_mode"),
        cwd: text("cwd").into(),
        args: hello["args"].as_array().into_iter().flatten().filter_map(|arg| Some(arg.as_str()?.to_owned())).collect(),
    };
    Peer::new(stream, hello)
}
