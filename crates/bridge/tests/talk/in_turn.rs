//! A process whose handlers run one at a time, and that takes more calls than one.

use std::time::Duration;

use protomcp_bridge::{Builder, ReloadMode};
use protomcp_envelope::CreateTaskResponse;
use protomcp_testing::{JsonPeer, Log, StoppedClock};
use serde_json::json;

use crate::announced::info;
use crate::fairness::{ask, handler_ends};
use crate::stage::Stage;
use crate::tool::Tool;
use crate::turns::{error, is_asked_after, is_probed, serves};

const ABLE: &str = r#"{"sampling":{}}"#;

/// The time after which another process takes the calls that wait for a handler that was given up.
const GRACE: Duration = Duration::from_secs(10);

async fn in_turn(change: impl FnOnce(Builder) -> Builder) -> (Stage, Tool) {
    let (stage, mut tool) = Stage::silent(change).await;
    tool.send("", info(&["in-turn"], 4)).await;
    tool.handshake_after_info(vec![Tool::definition("a")]).await;
    (stage, tool)
}

/// Calls of one session, all of which the bridge has received.
async fn calls(host: &mut JsonPeer, count: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(host.call("a").await);
    }
    let ping = host.request("ping", json!({})).await;
    host.until(ping).await;
    ids
}

/// A call that is answered immediately, after which two calls may be in the process.
async fn is_quick(host: &mut JsonPeer, tool: &mut Tool) {
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    tool.result(&call, "done").await;
    assert_eq!(host.text(id).await, "done");
}

/// This many calls, and no more, are sent to the process.
async fn gets(tool: &mut Tool, count: usize) -> Vec<String> {
    let mut calls = Vec::new();
    for _ in 0..count {
        calls.push(tool.call().await.0);
    }
    tool.hears_nothing().await;
    calls
}

#[tokio::test]
async fn only_a_process_that_answers_quickly_gets_several_calls() {
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    calls(&mut host, 20).await;
    let mut open = gets(&mut tool, 1).await;
    // The time of each answer, and the calls that follow it.
    for (is_quick, next) in [(false, 1), (true, 2), (true, 3), (true, 1), (false, 0), (true, 0), (true, 3)] {
        if !is_quick {
            clock.advance(Duration::from_secs(1)).await;
        }
        tool.result(&open.remove(0), "done").await;
        open.extend(gets(&mut tool, next).await);
    }
}

#[tokio::test]
async fn users_take_turns_in_front_of_it() {
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let (mut ann, mut bob) = (stage.host_as("ann", "{}").await, stage.host_as("bob", "{}").await);
    let clock = StoppedClock::new();
    calls(&mut ann, 6).await;
    let of_bob = calls(&mut bob, 1).await[0];
    for text in ["ann's first", "ann's second", "bob's"] {
        let (call, _) = tool.call().await;
        tool.hears_nothing().await;
        clock.advance(Duration::from_secs(1)).await;
        tool.result(&call, text).await;
    }
    assert_eq!(bob.text(of_bob).await, "bob's");
}

#[tokio::test]
async fn the_next_call_waits_for_a_given_up_handler() {
    const TIMEOUT: Duration = Duration::from_secs(200);
    let (stage, mut tool) = in_turn(|builder| builder.call_timeout(TIMEOUT)).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    let ids = calls(&mut host, 2).await;
    let (stuck, _) = tool.call().await;
    clock.advance(TIMEOUT).await;
    assert_eq!(error(&host.answer(ids[0]).await), ("TIMEOUT", false));
    let probe = is_asked_after(&mut tool, &stuck).await;
    tool.hears_nothing().await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    let (call, _) = tool.call().await;
    tool.result(&call, "in time").await;
    assert_eq!(host.text(ids[1]).await, "in time");
}

#[tokio::test]
async fn a_call_given_up_behind_a_running_one_starts_no_process() {
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    is_quick(&mut host, &mut tool).await;
    let ids = calls(&mut host, 2).await;
    let in_process = gets(&mut tool, 2).await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": ids[1]}})).await;
    is_asked_after(&mut tool, &in_process[1]).await;
    let waiting = host.call("a").await;
    host.hears_nothing().await;
    for _ in 0..3 {
        clock.advance(GRACE).await;
    }
    drop(clock);
    assert!(stage.starts_nothing().await, "the first one has its time");
    tool.result(&in_process[0], "done").await;
    assert_eq!(host.text(ids[0]).await, "done");
    let clock = StoppedClock::new();
    for _ in 0..3 {
        clock.advance(GRACE).await;
    }
    drop(clock);
    serves(&stage, &mut host, [waiting]).await;
    tool.is_left().await;
}

#[tokio::test]
async fn the_next_call_waits_for_the_handler_of_a_task() {
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let mut host = stage.host("{}").await;
    // The task is never polled.
    let _clock = StoppedClock::new();
    calls(&mut host, 2).await;
    let [call] = &gets(&mut tool, 1).await[..] else { unreachable!("one was asked for") };
    tool.send(call, CreateTaskResponse { task_id: "t".into() }).await;
    let probe = is_probed(&mut tool).await;
    tool.hears_nothing().await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    tool.call().await;
}

#[tokio::test]
async fn no_call_follows_one_that_asks_its_user() {
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let mut host = stage.host(ABLE).await;
    let _clock = StoppedClock::new();
    is_quick(&mut host, &mut tool).await;
    host.call("a").await;
    let (call, _) = tool.call().await;
    ask(&mut tool, &call).await;
    host.expect("sampling/createMessage").await;
    host.call("a").await;
    host.hears_nothing().await;
    tool.hears_nothing().await;
    tool.result(&call, "not answered").await;
    tool.call().await;
}

/// Also while the process is replaced.
#[tokio::test]
async fn a_question_gives_way_to_calls_of_others_in_the_process() {
    for is_replaced in [false, true] {
        let (stage, mut tool) = in_turn(|builder| builder.reload_mode(ReloadMode::Swap)).await;
        let (mut ann, mut bob) = (stage.host_as("ann", ABLE).await, stage.host_as("bob", "{}").await);
        let clock = StoppedClock::new();
        is_quick(&mut ann, &mut tool).await;
        ann.call("a").await;
        let (call, _) = tool.call().await;
        bob.call("a").await;
        tool.call().await;
        ask(&mut tool, &call).await;
        ann.expect("sampling/createMessage").await;
        drop(clock);
        if is_replaced {
            stage.reload().await;
            let mut next = stage.process().await;
            next.handshake(vec![Tool::definition("a")]).await;
            bob.call("a").await;
            next.call().await;
        }
        let clock = StoppedClock::new();
        clock.advance(Duration::from_secs(5)).await;
        handler_ends(&mut tool).await;
    }
}

#[tokio::test]
async fn the_log_says_once_that_many_calls_wait() {
    let log = Log::capture();
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    calls(&mut host, 20).await;
    for _ in 0..3 {
        let (call, _) = tool.call().await;
        clock.advance(Duration::from_secs(1)).await;
        tool.result(&call, "done").await;
    }
    calls(&mut host, 1).await;
    let text = log.text();
    let said: Vec<_> = text.lines().filter(|line| line.contains("calls wait for tool")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("19 calls wait for tool \"a\": the handlers of this process run one at a time. "),
        "{said:?}"
    );
}

#[tokio::test]
async fn the_log_names_a_slow_handler_while_it_runs() {
    let log = Log::capture();
    let (stage, mut tool) = in_turn(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    calls(&mut host, 8).await;
    tool.call().await;
    clock.advance(Duration::from_secs(1)).await;
    assert!(!log.has("calls wait for tool"));
    calls(&mut host, 1).await;
    assert!(log.has("8 calls wait for tool \"a\""), "{}", log.text());
}
