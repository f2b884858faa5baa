//! `--ping-interval`: clients that answer keep their sessions, and one that does not loses it.

use std::time::{Duration, Instant};

use protomcp_conformance::{Host, session};
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
    let (deadline, mut place) = (Instant::now() + Duration::from_secs(120), 0);
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
