//! A tool process that floods the bridge on mallory's instructions.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Client, Front, Heard, Neighbours, Setup, User};
use protomcp_conformance::tier;
use serde_json::{Value, json};

use crate::{MIB, SLACK, call, call_with_progress, goes_on, open, pour};

/// The limit for log output during an attack: 4 MiB in a second, and 8 MiB at first.
const LOG: usize = 48 << 20;

/// Calls a tool until the attack is over.
async fn repeat(mallory: &User, name: &str, arguments: Value) {
    let Ok(mut client) = open(mallory, Front::Session).await else { return };
    let start = Instant::now();
    while goes_on(start) {
        // The effect on the tool matters, not the answer.
        let _ = client.ask("tools/call", call_with_progress(name, &arguments)).await;
    }
}

/// Lists and sets of empty entries, two bytes each.
pub(crate) async fn inflate(mallory: User) {
    for kind in ["tools", "resources", "templates", "prompts", "names"] {
        let Ok(mut client) = open(&mallory, Front::Session).await else { return };
        let _ = client.ask("tools/call", call("inflate", &json!({"kind": kind, "count": 2_000_000}))).await;
    }
}

/// A resource of empty parts.
pub(crate) async fn inflate_a_resource(mallory: User) {
    let Ok(mut client) = open(&mallory, Front::Session).await else { return };
    for _ in 0..3 {
        let _ = client.ask("resources/read", json!({"uri": "parts://1000000"})).await;
    }
}

/// Short log messages, of the call and of no call.
pub(crate) async fn log(mallory: User) {
    for named in [true, false] {
        repeat(&mallory, "log", json!({"count": 20_000, "bytes": 50, "named": named})).await;
    }
}

/// Long log messages.
pub(crate) async fn log_at_length(mallory: User) {
    repeat(&mallory, "log", json!({"count": 20, "bytes": 1 << 20, "named": true})).await;
}

/// Lines on standard error.
pub(crate) async fn print(mallory: User) {
    repeat(&mallory, "print", json!({"count": 20_000, "bytes": 100})).await;
}

/// Reports of progress.
pub(crate) async fn report(mallory: User) {
    repeat(&mallory, "progress", json!({"count": 20_000})).await;
}

/// The tools change repeatedly.
pub(crate) async fn change(mallory: User) {
    repeat(&mallory, "change", json!({})).await;
}

/// Endless requests to the client.
pub(crate) async fn ask(mallory: User) {
    let able = json!({"elicitation": {}, "roots": {}});
    let Ok(client) = Client::open_with(&mallory, Front::Sse, &Heard::default(), &able).await else { return };
    let request = client.request_with_id(1000, "tools/call", call("ask", &json!({"count": tier(5_000, 20_000)})));
    let kept = pour(&client, &request).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(kept);
}

/// All messages of a process are read in order, so answers wait for earlier messages.
#[track_caller]
fn check(attack: impl AsyncFnOnce(User), bytes: u64) {
    let turn = Duration::from_secs(1);
    let neighbours = Neighbours::start(&Setup { turn, ..Setup::default() });
    let report = neighbours.suffer(async |mallory| attack(mallory).await);
    report.serves().keeps_the_secret().grows_at_most(bytes);
    let log = neighbours.web.process().stderr();
    let end: String = log.lines().rev().take(3).collect::<Vec<_>>().join("\n");
    let is_of_the_tool = log.contains("[hostile_tools]");
    assert!(is_of_the_tool || log.len() < LOG, "{} MiB of log, which ends in {end}", log.len() as u64 / MIB);
}

#[test]
fn small_frames_become_no_large_lists() {
    check(inflate, 4 * SLACK);
}

#[test]
fn small_frames_become_no_large_resources() {
    check(inflate_a_resource, 4 * SLACK);
}

#[test]
fn log_messages_without_end_stop_no_other() {
    check(log, SLACK);
    check(log_at_length, 4 * SLACK);
}

#[test]
fn lines_without_end_stop_no_other() {
    check(print, SLACK);
}

#[test]
fn progress_without_end_stops_no_other() {
    check(report, SLACK);
}

#[test]
fn changes_without_end_stop_no_other() {
    check(change, SLACK);
}

#[test]
fn questions_without_end_stop_no_other() {
    check(ask, SLACK);
}
