//! Turns: the time that a call waits for its turn, has it, and keeps it from others.

use std::time::Duration;

use protomcp_bridge::{Builder, ReloadMode};
use protomcp_envelope::{CallToolRequest, CreateTaskResponse, Msg, StreamHeader, TaskStatusResponse};
use protomcp_testing::{JsonPeer, StoppedClock};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

pub(crate) fn error(answer: &Value) -> (&str, bool) {
    let error = &answer["result"]["_meta"]["protomcp/error"];
    (error["error_code"].as_str().unwrap_or_else(|| panic!("{answer}")), error["retryable"] == true)
}

async fn one_at_a_time(change: impl FnOnce(Builder) -> Builder) -> (Stage, Tool) {
    Stage::with(vec![Tool::definition("a")], |builder| change(builder.max_concurrent_calls(1))).await
}

/// The bridge gives the call up, and asks whether the process is free.
pub(crate) async fn is_asked_after(tool: &mut Tool, given_up: &str) -> String {
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == given_up), "{envelope:?}");
    is_probed(tool).await
}

/// The bridge asks whether the process is free.
pub(crate) async fn is_probed(tool: &mut Tool) -> String {
    let (probe, CallToolRequest { name, .. }) = tool.call().await;
    assert_eq!(name, "protomcp/none");
    probe
}

#[tokio::test]
async fn a_call_without_a_turn_fails_as_retryable_and_is_not_sent() {
    const TURN: Duration = Duration::from_secs(200);
    let (stage, mut tool) = one_at_a_time(|builder| builder.queue_timeout(TURN)).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (call, _) = tool.call().await;
    let clock = StoppedClock::new();
    let second = host.call("a").await;
    host.hears_nothing().await;
    clock.advance(TURN).await;
    let answer = host.answer(second).await;
    assert_eq!(error(&answer), ("QUEUE_TIMEOUT", true));
    assert_eq!(answer["result"]["content"][0]["text"], "call tool \"a\" timed out after 3m20s in the queue");
    tool.result(&call, "one").await;
    assert_eq!(host.text(first).await, "one");
    let third = host.call("a").await;
    let (call, _) = tool.call().await;
    tool.hears_nothing().await;
    tool.result(&call, "three").await;
    assert_eq!(host.text(third).await, "three");
}

#[tokio::test]
async fn a_call_behind_a_given_up_handler_waits_and_has_its_time() {
    const TIMEOUT: Duration = Duration::from_secs(200);
    for how in ["late answer", "refusal", "late piece"] {
        let (stage, mut tool) = one_at_a_time(|builder| builder.call_timeout(TIMEOUT)).await;
        let mut host = stage.host("{}").await;
        let first = host.call("a").await;
        let (stuck, _) = tool.call().await;
        let clock = StoppedClock::new();
        let second = host.call("a").await;
        clock.advance(TIMEOUT).await;
        let answer = host.answer(first).await;
        assert_eq!(error(&answer), ("TIMEOUT", false));
        let probe = is_asked_after(&mut tool, &stuck).await;
        tool.hears_nothing().await;
        match how {
            "late answer" => tool.result(&stuck, "too late").await,
            "refusal" => tool.result(&probe, "Tool not found: protomcp/none").await,
            _ => {
                let header = StreamHeader { field_name: "result_json".into(), ..Default::default() };
                tool.send(&stuck, header).await;
            }
        }
        if how != "refusal" {
            let envelope = tool.request().await;
            assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == probe), "{envelope:?}");
        }
        let (call, request) = tool.call().await;
        assert_eq!(request.name, "a", "{how}");
        tool.result(&call, "in time").await;
        assert_eq!(host.text(second).await, "in time", "{how}");
    }
}

#[tokio::test]
async fn a_cancelled_call_that_does_not_end_gives_way() {
    let (stage, mut tool) = one_at_a_time(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (stuck, _) = tool.call().await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": first}})).await;
    is_asked_after(&mut tool, &stuck).await;
    let clock = StoppedClock::new();
    let second = host.call("a").await;
    host.hears_nothing().await;
    clock.advance(Duration::from_secs(10)).await;
    drop(clock);
    serves(&stage, &mut host, [second]).await;
    tool.is_left().await;
}

/// The end of its link is seen by the call that was given up, and by no call that waits.
#[tokio::test]
async fn calls_behind_a_given_up_one_outlive_its_process() {
    let (stage, mut tool) = one_at_a_time(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (stuck, _) = tool.call().await;
    let waiting = [host.call("a").await, host.call("a").await];
    host.hears_nothing().await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": first}})).await;
    is_asked_after(&mut tool, &stuck).await;
    drop(tool);
    serves(&stage, &mut host, waiting).await;
}

/// The next process answers these calls.
pub(crate) async fn serves(stage: &Stage, host: &mut JsonPeer, calls: impl IntoIterator<Item = u64>) {
    let mut next = stage.process().await;
    next.handshake(vec![Tool::definition("a")]).await;
    for id in calls {
        let (call, _) = next.call().await;
        next.result(&call, "served").await;
        let (answer, _log) = host.until(id).await;
        assert_eq!(answer["result"]["content"][0]["text"], "served", "{answer}");
    }
}

#[tokio::test]
async fn a_process_that_takes_several_calls_is_not_probed() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (stuck, _) = tool.call().await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": first}})).await;
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == stuck), "{envelope:?}");
    let second = host.call("a").await;
    let (call, request) = tool.call().await;
    assert_eq!(request.name, "a");
    tool.result(&call, "served").await;
    assert_eq!(host.text(second).await, "served");
}

#[tokio::test]
async fn a_reload_does_not_wait_for_a_call_that_was_given_up() {
    let (stage, mut tool) = one_at_a_time(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (stuck, _) = tool.call().await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": first}})).await;
    is_asked_after(&mut tool, &stuck).await;
    stage.reload().await;
    assert!(matches!(tool.request().await.msg, Some(Msg::Reload(_))));
}

/// The next version does not start, so the process with the handler stays in service.
#[tokio::test]
async fn a_probe_that_a_reload_interrupts_is_sent_again() {
    let (stage, mut tool) = one_at_a_time(|builder| builder.reload_mode(ReloadMode::Immediate)).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (stuck, _) = tool.call().await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": first}})).await;
    let interrupted = is_asked_after(&mut tool, &stuck).await;
    stage.reload().await;
    let probe = is_asked_after(&mut tool, &interrupted).await;
    drop(stage.process().await);
    while !host.next().await["params"]["data"].to_string().contains("reload failed") {}
    let second = host.call("a").await;
    let ping = host.request("ping", json!({})).await;
    host.until(ping).await;
    tool.hears_nothing().await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    let (call, request) = tool.call().await;
    assert_eq!(request.name, "a");
    tool.result(&call, "served").await;
    let (answer, _log) = host.until(second).await;
    assert_eq!(answer["result"]["content"][0]["text"], "served", "{answer}");
}

#[tokio::test]
async fn a_task_does_not_delay_other_calls() {
    let (stage, mut tool) = one_at_a_time(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    let (call, _) = tool.call().await;
    let second = host.call("a").await;
    tool.send(&call, CreateTaskResponse { task_id: "t".into() }).await;
    let (mut asked, mut served) = (0, false);
    // Another call arrives now, and the task is polled all along.
    while asked < 3 || !served {
        let envelope = tool.request().await;
        match envelope.msg {
            Some(Msg::TaskStatus(_)) => {
                let status = TaskStatusResponse { state: "running".into(), ..TaskStatusResponse::default() };
                tool.send(&envelope.request_id, status).await;
                asked += 1;
            }
            Some(Msg::CallTool(_)) => {
                tool.result(&envelope.request_id, "during the task").await;
                served = true;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(host.text(second).await, "during the task");
    // A reload still waits for it.
    stage.reload().await;
    let status = tool.request().await;
    assert!(matches!(status.msg, Some(Msg::TaskStatus(_))), "{status:?}");
    tool.send(&status.request_id, TaskStatusResponse { state: "completed".into(), ..Default::default() }).await;
    let fetch = tool.request().await;
    assert!(matches!(fetch.msg, Some(Msg::TaskResult(_))), "{fetch:?}");
    tool.result(&fetch.request_id, "of the task").await;
    assert_eq!(host.text(first).await, "of the task");
    assert!(matches!(tool.request().await.msg, Some(Msg::Reload(_))));
}
