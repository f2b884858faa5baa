//! The middleware of a tool process around its calls.

use std::time::Duration;

use protomcp_bridge::{Builder, ReloadMode};
use protomcp_envelope::{
    MiddlewareInterceptRequest, MiddlewareInterceptResponse, Msg, RegisterMiddlewareRequest,
    RegisterMiddlewareResponse, ReloadResponse, SdkInfo, ToolListResponse,
};
use protomcp_testing::{JsonPeer, StoppedClock};

use crate::stage::Stage;
use crate::tool::Tool;
use crate::turns::{error, is_probed, serves};

const TIMEOUT: Duration = Duration::from_secs(200);

/// A process with a middleware.
pub(crate) async fn with_middleware(change: impl FnOnce(Builder) -> Builder) -> (Stage, Tool) {
    let (stage, mut tool) = Stage::silent(change).await;
    registers(&mut tool).await;
    (stage, tool)
}

/// Registers a tool and a middleware.
async fn registers(tool: &mut Tool) {
    let request = tool.next().await;
    tool.send("", SdkInfo { features: vec!["request-context".into()], ..SdkInfo::default() }).await;
    tool.answer::<protomcp_envelope::BridgeInfo>("").await;
    tool.send(&request.request_id, ToolListResponse { tools: vec![Tool::definition("a")] }).await;
    tool.send("", RegisterMiddlewareRequest { name: "m".into(), priority: 1 }).await;
    tool.answer::<RegisterMiddlewareResponse>("").await;
    tool.send("", ReloadResponse { success: true, error: String::new() }).await;
}

pub(crate) async fn intercepted(tool: &mut Tool, phase: &str) -> String {
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
    let probe = is_probed(&mut tool).await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    // The step after it has the rest of the time, and the client gets the result even if the step fails.
    let (id, call, _) = begin(&mut host, &mut tool, &clock, TIMEOUT / 2).await;
    tool.result(&call, "done").await;
    intercepted(&mut tool, "after").await;
    clock.advance(TIMEOUT / 2).await;
    assert_eq!(host.text(id).await, "done");
    let probe = is_probed(&mut tool).await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
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

#[tokio::test]
async fn calls_outlive_a_process_that_ends_in_middleware() {
    let (stage, mut tool) = with_middleware(|builder| builder.max_concurrent_calls(1)).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    intercepted(&mut tool, "before").await;
    let waiting = [host.call("a").await, host.call("a").await];
    host.hears_nothing().await;
    drop(tool);
    let (answer, _log) = host.until(first).await;
    assert_eq!(error(&answer), ("TOOL_PROCESS_CRASHED", true));
    serves(&stage, &mut host, waiting).await;
}

#[tokio::test]
async fn middleware_that_does_not_end_gives_way() {
    for phase in ["before", "after"] {
        let settings = |builder: Builder| builder.max_concurrent_calls(1).call_timeout(TIMEOUT);
        let (stage, mut tool) = with_middleware(settings).await;
        let mut host = stage.host("{}").await;
        let clock = StoppedClock::new();
        let first = host.call("a").await;
        let step = intercepted(&mut tool, "before").await;
        if phase == "after" {
            tool.send(&step, MiddlewareInterceptResponse::default()).await;
            let (call, _) = tool.call().await;
            tool.result(&call, "done").await;
            intercepted(&mut tool, "after").await;
        }
        let second = host.call("a").await;
        host.hears_nothing().await;
        clock.advance(TIMEOUT).await;
        let (answer, _log) = host.until(first).await;
        assert_eq!(answer["result"]["isError"] == true, phase == "before", "{answer}");
        is_probed(&mut tool).await;
        tool.hears_nothing().await;
        // The process is asked, does not answer, and is replaced.
        clock.advance(Duration::from_secs(10)).await;
        drop(clock);
        serves(&stage, &mut host, [second]).await;
        tool.is_left().await;
    }
}

#[tokio::test]
async fn a_process_is_free_when_its_late_middleware_has_ended() {
    let settings = |builder: Builder| builder.max_concurrent_calls(1).call_timeout(TIMEOUT);
    let (stage, mut tool) = with_middleware(settings).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    let first = host.call("a").await;
    intercepted(&mut tool, "before").await;
    let second = host.call("a").await;
    host.hears_nothing().await;
    clock.advance(TIMEOUT).await;
    assert_eq!(error(&host.answer(first).await), ("MIDDLEWARE_FAILED", false));
    let probe = is_probed(&mut tool).await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    let step = intercepted(&mut tool, "before").await;
    tool.send(&step, MiddlewareInterceptResponse { reject: true, reject_reason: "no".into(), ..Default::default() })
        .await;
    assert_eq!(host.text(second).await, "rejected by middleware \"m\": no");
}

#[tokio::test]
async fn an_immediate_reload_interrupts_middleware_before_a_call() {
    let (stage, mut tool) = with_middleware(|builder| builder.reload_mode(ReloadMode::Immediate)).await;
    let mut host = stage.host("{}").await;
    let first = host.call("a").await;
    intercepted(&mut tool, "before").await;
    stage.reload().await;
    let (answer, _log) = host.until(first).await;
    assert_eq!(error(&answer), ("RELOADED", true));
}
