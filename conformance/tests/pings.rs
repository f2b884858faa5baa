//! Pings: clients that answer keep their sessions, and one that does not loses it (`--ping-interval`); a tool process
//! that has announced pings and falls silent is replaced.

use std::path::Path;
use std::time::{Duration, Instant};

use protomcp_conformance::{Host, Sandbox, eventually, living, patience, session};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

const FLAGS: [&str; 2] = ["--ping-interval", "200ms"];

/// Answers the next ping from `place` on, and returns the index for the one after it.
fn answer_ping(host: &Host, place: usize) -> usize {
    let ping = host.wait_for("a ping", place, |message| message.method() == "ping");
    host.reply(&ping, &json!({}));
    ping.place + 1
}

#[test]
fn only_a_client_that_answers_pings_keeps_its_session() {
    let (there, _sandbox) = session("run", "py/basics.py", &FLAGS);
    let (gone, _other) = session("run", "py/basics.py", &FLAGS);
    gone.wait_for("a ping", 0, |message| message.method() == "ping");
    // Half a minute of silence ends the one session; the other lives through all of it.
    let (deadline, mut place) = (Instant::now() + Duration::from_secs(60) + patience(), 0);
    let status = loop {
        place = answer_ping(&there, place);
        if let Some(status) = gone.exited() {
            break status;
        }
        assert!(Instant::now() < deadline, "a host that says nothing keeps its session");
    };
    assert_eq!(status.code(), Some(1));
    gone.stderr_with("ping timed out; closing session");
    gone.no_orphans();
    assert_eq!(there.text("echo", &json!({"text": "here"})), "here");
    answer_ping(&there, place);
    assert_eq!(there.exited(), None);
}

/// A session with the second implementation of the envelope protocol, which answers pings. It has listed its tools:
/// the answer to `initialize` does not wait for the tool process, which is stopped only once it is connected.
fn second() -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("second/tool.py");
    let launch = sandbox.pmcp(&["run", file.to_str().expect("the path is text")]);
    let host = launch.env("PYTHONDONTWRITEBYTECODE", "1").start();
    host.initialize();
    host.tools();
    (host, sandbox)
}

/// The id of the tool process, if it runs.
fn tool_process(sandbox: &Sandbox) -> Option<u32> {
    let is_tool = |command: &str| command.split(' ').next().is_some_and(|program| program.contains("python"));
    living(sandbox.marker()).into_iter().find(|process| is_tool(&process.command)).map(|process| process.pid)
}

/// Stops the tool process without an end, as a blocked reader would.
fn freeze(sandbox: &Sandbox) {
    let pid = tool_process(sandbox).and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("it runs");
    kill_process(pid, Signal::STOP).expect("it is there");
}

#[test]
fn a_silent_tool_process_is_replaced_unless_it_works() {
    let ((idle, first), (busy, other), (alive, third)) = (second(), second(), second());
    let waiting = busy.start_call("wait", &json!({}));
    busy.wait_for("the call", 0, |message| message.method() == "notifications/message");
    let (before, healthy) = (tool_process(&first), tool_process(&third));
    freeze(&first);
    freeze(&other);
    // Half a minute until the ping, and half a minute for its answer.
    let deadline = Instant::now() + Duration::from_secs(60) + 3 * patience();
    let expected =
        ["has not answered for 60s, and no request runs there", "has not answered for 60s; waiting requests: 1"];
    while [&idle, &busy].into_iter().zip(expected).any(|(host, text)| !host.stderr().contains(text)) {
        assert!(Instant::now() < deadline, "{}{}", idle.stderr(), busy.stderr());
        std::thread::sleep(Duration::from_millis(100));
    }
    eventually("a new process", || tool_process(&first).filter(|pid| Some(*pid) != before));
    eventually("its answer", || {
        (idle.call("add", &json!({"a": 1, "b": 2}))["content"][0]["text"] == "3").then_some(())
    });
    assert!(busy.answered(waiting).is_none(), "the call goes on");
    assert_eq!(tool_process(&third), healthy, "a process that answers stays");
    assert_eq!(alive.text("echo", &json!({"text": "hey"})), "HEY!");
}
