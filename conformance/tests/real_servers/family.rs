//! The processes of one server, from outside: those that carry the mark of its sandbox.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use protomcp_conformance::{Sandbox, living, patience};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The padding of a call that is waited for in a pipe: more than all other messages that a stopped process is sent, and less
/// than a page, which every pipe holds.
const PADDING: u64 = 3 << 10;

/// All processes of a server.
#[derive(Clone)]
pub(crate) struct Family {
    sandbox: Sandbox,
}

impl Family {
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        Self { sandbox: sandbox.clone() }
    }

    /// The process that was started, which may have started others.
    fn head(&self) -> Option<u32> {
        self.members().into_iter().find(|pid| parent(*pid) == Some(std::process::id()))
    }

    /// The processes whose command line begins like this.
    pub(crate) fn named(&self, command: &str) -> Vec<u32> {
        let all = living(self.sandbox.marker()).into_iter();
        all.filter(|process| process.command.starts_with(command)).map(|process| process.pid).collect()
    }

    pub(crate) fn members(&self) -> Vec<u32> {
        living(self.sandbox.marker()).into_iter().map(|process| process.pid).collect()
    }

    /// Stops all of them, so that no request is answered.
    pub(crate) async fn pause(&self) {
        pause(&self.members()).await;
    }

    pub(crate) fn resume(&self) {
        for pid in self.members() {
            send(pid, Signal::CONT);
        }
    }

    /// Waits until a paused server has a call with [`padded`] arguments to read. Other bytes do not count: its client may
    /// have sent a ping or a cancellation.
    pub(crate) async fn until_asked(&self) {
        until("a call in the pipe", || self.members().into_iter().any(has_call)).await;
    }

    /// Kills the process that was started, and no other one.
    pub(crate) fn kill_head(&self) {
        kill(self.head().expect("it is running"));
    }

    /// Kills all of them.
    pub(crate) fn kill_all(&self) {
        self.members().into_iter().for_each(kill);
    }

    /// Waits until none is left.
    pub(crate) async fn gone(&self) {
        until("all processes to end", || self.members().is_empty()).await;
    }
}

/// Stops processes, and waits until they have stopped.
pub(crate) async fn pause(pids: &[u32]) {
    for pid in pids {
        send(*pid, Signal::STOP);
    }
    until("processes to stop", || pids.iter().all(|pid| has_stopped(*pid))).await;
}

pub(crate) fn terminate(pid: u32) {
    send(pid, Signal::TERM);
}

pub(crate) fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

/// Arguments for a call that [`Family::until_asked`] waits for.
pub(crate) fn padded(arguments: &Value) -> Value {
    let mut padded = arguments.clone();
    padded["padding"] = "x".repeat(PADDING as usize).into();
    padded
}

/// True if a call is in a pipe from another process. Its standard input may have another number by now. A pipe whose both
/// ends are with the process is its own: an event loop wakes itself by one.
fn has_call(pid: u32) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let pipes: Vec<_> = entries.filter_map(|entry| End::of(pid, &entry.path())).collect();
    let is_own = |end: &End| pipes.iter().any(|other| other.is_writable && other.pipe == end.pipe);
    let mut inputs = pipes.iter().filter(|end| !end.is_writable && !is_own(end));
    inputs.any(|end| {
        File::open(&end.path).is_ok_and(|pipe| rustix::io::ioctl_fionread(&pipe).is_ok_and(|bytes| bytes >= PADDING))
    })
}

/// An end of a pipe.
struct End {
    path: PathBuf,
    /// The pipe's name, which both ends have.
    pipe: PathBuf,
    is_writable: bool,
}

impl End {
    /// None if the descriptor is of something else.
    fn of(pid: u32, path: &Path) -> Option<Self> {
        let pipe = fs::read_link(path).ok().filter(|to| to.to_string_lossy().starts_with("pipe:"))?;
        let about = fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", path.file_name()?.to_string_lossy())).ok()?;
        // The last digit of the flags is the access mode.
        let flags = about.lines().find(|line| line.starts_with("flags:"))?;
        Some(Self { path: path.to_owned(), pipe, is_writable: !flags.ends_with('0') })
    }
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process has an id");
    // It may have ended.
    let _ = kill_process(pid, signal);
}

/// True if no thread of the process runs: one that was reading when the signal came may still take what arrives.
fn has_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| stat(&thread.path())).all(|fields| fields.first().is_some_and(|state| state == "T"))
}

fn parent(pid: u32) -> Option<u32> {
    stat(Path::new(&format!("/proc/{pid}")))?.get(1)?.parse().ok()
}

/// The fields of the file `stat` that follow the name.
fn stat(folder: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Polls a condition of the system, which reports no change.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + patience();
    while !holds() {
        assert!(Instant::now() < deadline, "waited {:?} for {what}", patience());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
