//! Turns: the time that a call waits for its turn, has it, and keeps it from others.

use std::time::Duration;

use protomcp_bridge::Builder;
use protomcp_envelope::{
    CallToolRequest, CreateTaskResponse, MiddlewareInterceptRequest, MiddlewareInterceptResponse, Msg,
    RegisterMiddlewareRequest, RegisterMiddlewareResponse, ReloadResponse, SdkInfo, StreamHeader, TaskStatusResponse,
    ToolListResponse,
};
use protomcp_testing::{JsonPeer, StoppedClock};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

fn error(answer: &Value) -> (&str, bool) {
    let error = &answer["result"]["_meta"]["protomcp/error"];
    (error["error_code"].as_str().unwrap_or_else(|| panic!("{answer}")), error["retryable"] == true)
}

async fn one_at_a_time(change: impl FnOnce(Builder) -> Builder) -> (Stage, Tool) {
    Stage::with(vec![Tool::definition("a")], |builder| change(builder.max_concurrent_calls(1))).await
}

/// The bridge gives the call up, and asks whether the process is free.
async fn is_asked_after(tool: &mut Tool, given_up: &str) -> String {
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == given_up), "{envelope:?}");
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
    let second = host.call("a").await;
    let mut next = stage.process().await;
    next.handshake(vec![Tool::definition("a")]).await;
    let (call, _) = next.call().await;
    next.result(&call, "served").await;
    let (answer, _log) = host.until(second).await;
    assert_eq!(answer["result"]["content"][0]["text"], "served");
    tool.is_left().await;
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

/// Registers a middleware in the handshake.
async fn with_middleware(change: impl FnOnce(Builder) -> Builder) -> (Stage, Tool) {
    let (stage, mut tool) = Stage::silent(change).await;
    let request = tool.next().await;
    tool.send("", SdkInfo { features: vec!["request-context".into()], ..SdkInfo::default() }).await;
    tool.answer::<protomcp_envelope::BridgeInfo>("").await;
    tool.send(&request.request_id, ToolListResponse { tools: vec![Tool::definition("a")] }).await;
    tool.send("", RegisterMiddlewareRequest { name: "m".into(), priority: 1 }).await;
    tool.answer::<RegisterMiddlewareResponse>("").await;
    tool.send("", ReloadResponse { success: true, error: String::new() }).await;
    (stage, tool)
}

async fn intercepted(tool: &mut Tool, phase: &str) -> String {
    let envelope = tool.request().await;
    let Some(Msg::MiddlewareIntercept(MiddlewareInterceptRequest { phase: now, .. })) = envelope.msg else {
        panic!("{envelope:?}")
    };
    assert_eq!(now, phase);
    envelope.request_id
}

async fn begin(host: &mut JsonPeer, tool: &mut Tool, clock: &StoppedClock, before: Duration) -> (u64, String, u64) {
    let id = host.call("a").await;
    let step = intercepted(tool, "before").await;
    clock.advance(before).await;
    tool.send(&step, MiddlewareInterceptResponse::default()).await;
    let call = tool.request().await;
    assert_eq!(call.name(), "call_tool");
    (id, call.request_id, call.context.unwrap().timeout_ms)
}

#[tokio::test]
async fn a_call_and_its_middleware_share_one_time() {
    const TIMEOUT: Duration = Duration::from_secs(200);
    let (stage, mut tool) = with_middleware(|builder| builder.call_timeout(TIMEOUT)).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    // The step before a call takes from the time of the call: there is one limit for both.
    let (id, call, left) = begin(&mut host, &mut tool, &clock, TIMEOUT / 2).await;
    assert!(left <= 100_000, "{left}");
    clock.advance(TIMEOUT / 2).await;
    let answer = host.answer(id).await;
    assert_eq!(error(&answer), ("TIMEOUT", false));
    assert_eq!(answer["result"]["content"][0]["text"], "call tool \"a\" timed out after 3m20s");
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == call), "{envelope:?}");
    // The step after it has the rest of the time, and the client gets the result even if the step fails.
    let (id, call, _) = begin(&mut host, &mut tool, &clock, TIMEOUT / 2).await;
    tool.result(&call, "done").await;
    intercepted(&mut tool, "after").await;
    clock.advance(TIMEOUT / 2).await;
    assert_eq!(host.text(id).await, "done");
    // A step before it that takes all of it fails the call.
    let id = host.call("a").await;
    intercepted(&mut tool, "before").await;
    clock.advance(TIMEOUT).await;
    let answer = host.answer(id).await;
    assert_eq!(error(&answer), ("MIDDLEWARE_FAILED", false));
    assert_eq!(answer["result"]["content"][0]["text"], "middleware \"m\" before: the time of the call, 3m20s, is over");
}

#[tokio::test]
async fn middleware_registered_before_the_process_serves_runs_too() {
    let (stage, mut tool) = Stage::silent(|builder| builder).await;
    tool.handshake(vec![Tool::definition("a")]).await;
    // The lists other than tools are asked for, and not answered yet.
    tool.send("", RegisterMiddlewareRequest { name: "late".into(), priority: 1 }).await;
    let mut questions = Vec::new();
    loop {
        let envelope = tool.next().await;
        match envelope.msg {
            Some(Msg::RegisterMiddlewareResponse(RegisterMiddlewareResponse { success })) => break assert!(success),
            _ => questions.push(envelope.request_id),
        }
    }
    let mut host = stage.host("{}").await;
    let id = host.call("a").await;
    let step = loop {
        let envelope = tool.request().await;
        if let Some(Msg::MiddlewareIntercept(_)) = envelope.msg {
            break envelope.request_id;
        }
    };
    tool.send(&step, MiddlewareInterceptResponse { reject: true, reject_reason: "no".into(), ..Default::default() })
        .await;
    assert_eq!(host.text(id).await, "rejected by middleware \"late\": no");
}
