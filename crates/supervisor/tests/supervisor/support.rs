//! Helpers for tests with real processes: a guardian, a shell, and a search for survivors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use protomcp_supervisor::{Command, Event, Exit, Guardian, Process, StopPolicy, Stream};
use protomcp_testing::{holds_in_time, in_time, patience};
use tokio::sync::mpsc;

/// The example program, which is a bridge in miniature and can be a guardian.
pub(crate) fn watch_over() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/watch_over");
    assert!(
        example.exists(),
        "run `cargo build -p protomcp-supervisor --examples` first, or `cargo test` without --test"
    );
    example
}

/// With and without a guardian; for what holds in both cases.
pub(crate) fn both() -> [Guardian; 2] {
    [guarded(), Guardian::None]
}

pub(crate) fn guarded() -> Guardian {
    Guardian::Program(watch_over())
}

pub(crate) fn shell(script: &str) -> Command {
    Command::new("sh").arg("-c").arg(script)
}

/// No rung of the ladder is reached by accident.
pub(crate) fn patient() -> StopPolicy {
    StopPolicy { close: patience(), terminate: patience(), kill: patience() }
}

pub(crate) async fn spawn(command: &Command) -> (Process, mpsc::Receiver<Event>) {
    spawn_with(command, patient()).await
}

pub(crate) async fn spawn_with(command: &Command, policy: StopPolicy) -> (Process, mpsc::Receiver<Event>) {
    let (process, mut events) = Process::spawn(command, policy).await.unwrap();
    assert_eq!(next(&mut events).await, Some(Event::Started { pid: process.pid() }));
    (process, events)
}

pub(crate) async fn next(events: &mut mpsc::Receiver<Event>) -> Option<Event> {
    in_time(events.recv()).await.expect("no event came")
}

/// Waits for a line with this text.
pub(crate) async fn expect_line(events: &mut mpsc::Receiver<Event>, wanted: &str) {
    loop {
        match next(events).await {
            Some(Event::Line { text, .. }) if text == wanted => return,
            Some(_) => {}
            None => panic!("the events ended without the line {wanted:?}"),
        }
    }
}

/// Everything up to the end, which must be the last event.
pub(crate) async fn rest(events: &mut mpsc::Receiver<Event>) -> (Vec<Event>, Exit) {
    let mut all = Vec::new();
    loop {
        match next(events).await {
            Some(Event::Exited(exit)) => {
                assert_eq!(next(events).await, None, "something came after the end");
                return (all, exit);
            }
            Some(event) => all.push(event),
            None => panic!("the events ended without an end"),
        }
    }
}

/// Runs a command to its end.
pub(crate) async fn run(command: &Command) -> (Vec<Event>, Exit) {
    let (_process, mut events) = spawn(command).await;
    rest(&mut events).await
}

pub(crate) fn lines_of(events: &[Event], wanted: Stream) -> Vec<&str> {
    let mut lines = Vec::new();
    for event in events {
        match event {
            Event::Line { stream, text } if *stream == wanted => lines.push(text.as_str()),
            Event::Line { .. } | Event::Started { .. } | Event::CloseLink | Event::Exited(_) => {}
        }
    }
    lines
}

/// A name in the environment that everything a process starts inherits.
pub(crate) struct Mark(String);

impl Mark {
    const NAME: &str = "PROTOMCP_TEST_MARK";

    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self(format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn on(&self, command: Command) -> Command {
        command.env(Self::NAME, &self.0)
    }

    pub(crate) fn on_std(&self, command: &mut std::process::Command) {
        command.env(Self::NAME, &self.0);
    }

    /// Everyone alive who carries the mark, guardians included: process id and command line.
    pub(crate) fn bearers(&self) -> Vec<(u32, String)> {
        let entry = format!("{}={}", Self::NAME, self.0);
        processes()
            .filter(|pid| {
                let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes()) && is_alive(*pid)
            })
            .map(|pid| (pid, command_line(pid)))
            .collect()
    }

    /// Those whose command line contains `text`.
    pub(crate) fn bearers_of(&self, text: &str) -> Vec<u32> {
        self.bearers().into_iter().filter(|(_, line)| line.contains(text)).map(|(pid, _)| pid).collect()
    }

    pub(crate) fn wait_for(&self, what: &str, condition: impl Fn(&[(u32, String)]) -> bool) {
        let mut bearers = Vec::new();
        let holds = || {
            bearers = self.bearers();
            condition(&bearers)
        };
        assert!(holds_in_time(holds), "waited {:?} until {what}: {bearers:#?}", patience());
    }

    pub(crate) fn wait_until_gone(&self) {
        self.wait_for("everyone is gone", <[_]>::is_empty);
    }
}

/// Ends the processes that a failed test leaves behind.
impl Drop for Mark {
    fn drop(&mut self) {
        for (pid, _) in self.bearers() {
            signal(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Writes an executable file, from another process: if this one had it open for a moment, a fork on another thread could
/// keep it open, and the system refuses to execute a file that is being written.
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut writer = std::process::Command::new("sh");
    writer.args(["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "write"]).arg(path).arg(text);
    assert!(writer.status().unwrap().success());
}

pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

pub(crate) fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// The fields of `/proc/<pid>/stat` after the name: state, parent, group, session.
pub(crate) fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

/// A program that starts opens files for a moment; what was inherited stays.
pub(crate) fn wait_for_descriptors(pid: u32, expected: &[u32]) {
    assert!(holds_in_time(|| descriptors(pid) == expected), "{pid} has {:?}", descriptors(pid));
}

fn descriptors(pid: u32) -> Vec<u32> {
    let directory = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).unwrap();
    let numbers = directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
}
