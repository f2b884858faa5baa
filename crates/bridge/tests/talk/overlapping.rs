//! A process whose handlers overlap, and one of which holds up the others.

use std::time::Duration;

use protomcp_envelope::{CreateTaskResponse, MiddlewareInterceptResponse, Msg};
use protomcp_testing::{JsonPeer, Log, StoppedClock};
use serde_json::json;

use crate::announced::info;
use crate::catalog::{asked, lists, read};
use crate::middleware::{intercepted, with_middleware};
use crate::stage::Stage;
use crate::tool::Tool;
use crate::turns::{is_asked_after, is_probed, serves};

/// The time after which another process takes the calls that wait.
const GRACE: Duration = Duration::from_secs(10);

async fn overlapping() -> (Stage, Tool, JsonPeer) {
    let (stage, mut tool) = Stage::silent(|builder| builder).await;
    tool.send("", info(&[], 4)).await;
    tool.handshake_after_info(vec![Tool::definition("a")]).await;
    let host = stage.host("{}").await;
    (stage, tool, host)
}

/// A call of which the process knows, and its name there.
async fn call(host: &mut JsonPeer, tool: &mut Tool) -> (u64, String) {
    let id = host.call("a").await;
    let (call, request) = tool.call().await;
    assert_eq!(request.name, "a");
    (id, call)
}

async fn cancel(host: &mut JsonPeer, id: u64) {
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": id}})).await;
}

/// A call that waits in the bridge.
async fn waits(host: &mut JsonPeer, tool: &mut Tool) -> u64 {
    let id = host.call("a").await;
    let ping = host.request("ping", json!({})).await;
    host.until(ping).await;
    tool.hears_nothing().await;
    id
}

#[tokio::test]
async fn calls_wait_until_the_process_answers_a_probe() {
    let (_stage, mut tool, mut host) = overlapping().await;
    let (first, stuck) = call(&mut host, &mut tool).await;
    cancel(&mut host, first).await;
    let probe = is_asked_after(&mut tool, &stuck).await;
    let second = waits(&mut host, &mut tool).await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    let (name, _) = tool.call().await;
    tool.result(&name, "served").await;
    assert_eq!(host.text(second).await, "served");
}

#[tokio::test]
async fn a_process_that_takes_no_calls_gives_way() {
    let log = Log::capture();
    let (stage, mut tool, mut host) = overlapping().await;
    let (first, stuck) = call(&mut host, &mut tool).await;
    cancel(&mut host, first).await;
    is_asked_after(&mut tool, &stuck).await;
    let second = waits(&mut host, &mut tool).await;
    let clock = StoppedClock::new();
    clock.advance(GRACE).await;
    drop(clock);
    serves(&stage, &mut host, [second]).await;
    tool.is_left().await;
    assert!(log.has("calls wait since one of tool \"a\" was given up"), "{}", log.text());
}

/// Its handler may be the one that holds up the others, and may end.
#[tokio::test]
async fn a_request_that_has_time_left_keeps_its_process() {
    let (stage, mut tool, mut host) = overlapping().await;
    let (first, running) = call(&mut host, &mut tool).await;
    let (second, stuck) = call(&mut host, &mut tool).await;
    cancel(&mut host, second).await;
    is_asked_after(&mut tool, &stuck).await;
    let (_, third) = call(&mut host, &mut tool).await;
    let clock = StoppedClock::new();
    for _ in 0..3 {
        clock.advance(GRACE).await;
    }
    drop(clock);
    assert!(stage.starts_nothing().await);
    tool.result(&running, "done").await;
    assert_eq!(host.text(first).await, "done");
    let fourth = waits(&mut host, &mut tool).await;
    tool.result(&third, "of a call after the probe").await;
    tool.hears_nothing().await;
    let clock = StoppedClock::new();
    for _ in 0..3 {
        clock.advance(GRACE).await;
    }
    drop(clock);
    serves(&stage, &mut host, [fourth]).await;
}

#[tokio::test]
async fn a_call_given_up_after_a_probe_causes_another() {
    let (_stage, mut tool, mut host) = overlapping().await;
    let (first, name) = call(&mut host, &mut tool).await;
    let (second, other) = call(&mut host, &mut tool).await;
    cancel(&mut host, first).await;
    let probe = is_asked_after(&mut tool, &name).await;
    cancel(&mut host, second).await;
    let cancelled = tool.request().await;
    assert!(matches!(&cancelled.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == other), "{cancelled:?}");
    tool.hears_nothing().await;
    tool.result(&probe, "Tool not found: protomcp/none").await;
    let again = is_probed(&mut tool).await;
    waits(&mut host, &mut tool).await;
    tool.result(&again, "Tool not found: protomcp/none").await;
    tool.call().await;
    tool.hears_nothing().await;
}

#[tokio::test]
async fn a_call_that_waits_is_sent_after_the_probe() {
    let (stage, mut tool) = Stage::silent(|builder| builder).await;
    tool.send("", info(&[], 2)).await;
    tool.handshake_after_info(vec![Tool::definition("a")]).await;
    let mut host = stage.host("{}").await;
    call(&mut host, &mut tool).await;
    let (second, stuck) = call(&mut host, &mut tool).await;
    waits(&mut host, &mut tool).await;
    cancel(&mut host, second).await;
    is_asked_after(&mut tool, &stuck).await;
    tool.call().await;
}

/// It may last for a day, and gives no bound to the wait of others.
#[tokio::test]
async fn a_task_keeps_no_process_that_takes_no_calls() {
    let (stage, mut tool, mut host) = overlapping().await;
    let clock = StoppedClock::new();
    let (_, task) = call(&mut host, &mut tool).await;
    tool.send(&task, CreateTaskResponse { task_id: "t".into() }).await;
    tool.is_heard().await;
    let (second, stuck) = call(&mut host, &mut tool).await;
    cancel(&mut host, second).await;
    is_asked_after(&mut tool, &stuck).await;
    let third = waits(&mut host, &mut tool).await;
    clock.advance(GRACE).await;
    drop(clock);
    serves(&stage, &mut host, [third]).await;
}

/// A process whose handlers run one at a time is asked, too.
#[tokio::test]
async fn a_read_that_holds_up_calls_gives_way() {
    for features in [&[][..], &["in-turn"]] {
        let (stage, mut tool) = Stage::silent(|builder| builder).await;
        tool.send("", info(features, 4)).await;
        tool.handshake_after_info(vec![Tool::definition("a")]).await;
        lists(&mut tool).await;
        let mut host = stage.host("{}").await;
        let id = read(&mut host).await;
        asked(&mut tool).await;
        cancel(&mut host, id).await;
        is_probed(&mut tool).await;
        let call = waits(&mut host, &mut tool).await;
        let clock = StoppedClock::new();
        clock.advance(GRACE).await;
        drop(clock);
        serves(&stage, &mut host, [call]).await;
        tool.is_left().await;
    }
}

/// Its handler is the one that runs, and others wait for it in any case.
#[tokio::test]
async fn a_read_given_up_behind_a_task_that_runs_alone_ends_nothing() {
    let (stage, mut tool) = Stage::silent(|builder| builder).await;
    tool.send("", info(&["in-turn"], 4)).await;
    tool.handshake_after_info(vec![Tool::definition("a")]).await;
    lists(&mut tool).await;
    let mut host = stage.host("{}").await;
    let (_, task) = call(&mut host, &mut tool).await;
    tool.send(&task, CreateTaskResponse { task_id: "t".into() }).await;
    is_probed(&mut tool).await;
    let id = read(&mut host).await;
    asked(&mut tool).await;
    cancel(&mut host, id).await;
    is_probed(&mut tool).await;
    waits(&mut host, &mut tool).await;
    let clock = StoppedClock::new();
    for _ in 0..3 {
        clock.advance(GRACE).await;
    }
    drop(clock);
    assert!(stage.starts_nothing().await);
}

#[tokio::test]
async fn middleware_that_holds_up_others_gives_way() {
    const TIMEOUT: Duration = Duration::from_secs(200);
    for phase in ["before", "after"] {
        let (stage, mut tool) = with_middleware(|builder| builder.call_timeout(TIMEOUT)).await;
        let mut host = stage.host("{}").await;
        let clock = StoppedClock::new();
        let first = host.call("a").await;
        let step = intercepted(&mut tool, "before").await;
        if phase == "after" {
            tool.send(&step, MiddlewareInterceptResponse::default()).await;
            let (name, _) = tool.call().await;
            tool.result(&name, "done").await;
            intercepted(&mut tool, "after").await;
        }
        clock.advance(TIMEOUT).await;
        host.until(first).await;
        is_probed(&mut tool).await;
        let second = waits(&mut host, &mut tool).await;
        clock.advance(GRACE).await;
        drop(clock);
        serves(&stage, &mut host, [second]).await;
        tool.is_left().await;
    }
}
