//! A user with many calls does not keep another user from calling.

use std::time::Duration;

use protomcp_envelope::{Msg, SamplingRequest, SamplingResponse};
use protomcp_testing::{JsonPeer, StoppedClock};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

/// More calls than may wait, all of one user.
const SESSIONS: usize = 5;
const CALLS: usize = 1000;

async fn one_at_a_time() -> (Stage, Tool) {
    Stage::with(vec![Tool::definition("a")], |builder| builder.max_concurrent_calls(1)).await
}

/// Sessions of one user that fill the queue, and the call that runs.
async fn fill(stage: &Stage, tool: &mut Tool) -> (Vec<JsonPeer>, String) {
    let mut hosts = Vec::new();
    let mut running = None;
    for _ in 0..SESSIONS {
        let mut host = stage.host_as("ann", "{}").await;
        for _ in 0..CALLS {
            host.call("a").await;
        }
        if running.is_none() {
            running = Some(tool.call().await.0);
        }
        // All of them have been accepted or rejected by then.
        let ping = host.request("ping", json!({})).await;
        host.until(ping).await;
        hosts.push(host);
    }
    (hosts, running.unwrap())
}

#[tokio::test]
async fn a_call_of_another_user_enters_a_full_queue_and_is_next() {
    let (stage, mut tool) = one_at_a_time().await;
    let (mut hosts, running) = fill(&stage, &mut tool).await;
    let mut bob = stage.host_as("bob", "{}").await;
    let id = bob.call("a").await;
    bob.hears_nothing().await;
    // The newest waiting call has made room.
    let refused = displaced(&mut hosts).await;
    let error = &refused["result"]["_meta"]["protomcp/error"];
    assert_eq!((error["error_code"].as_str().unwrap(), &error["retryable"]), ("OVERLOADED", &Value::Bool(true)));
    // A call of ann's may be granted before the other user's, whose turn comes after it.
    tool.result(&running, "ann's first").await;
    for next in ["ann's second", "bob's"] {
        let (call, _) = tool.call().await;
        tool.result(&call, next).await;
    }
    assert_eq!(bob.text(id).await, "bob's");
}

/// The answer to the displaced call.
async fn displaced(hosts: &mut [JsonPeer]) -> Value {
    let text = "call tool \"a\" made room in the full queue for another user; 4096 of your calls were waiting";
    for host in hosts.iter_mut().rev() {
        let ping = host.request("ping", json!({})).await;
        let (_, before) = host.until(ping).await;
        let found = before.into_iter().find(|answer| answer["result"]["content"][0]["text"] == text);
        if let Some(answer) = found {
            return answer;
        }
    }
    panic!("no call has made room");
}

#[tokio::test]
async fn cancelled_calls_leave_the_queue_immediately() {
    let (stage, mut tool) = one_at_a_time().await;
    let (hosts, running) = fill(&stage, &mut tool).await;
    drop(hosts);
    stage.hosts(0).await;
    // The same user, who would find no room if the removed calls still counted.
    let mut again = stage.host_as("ann", "{}").await;
    let id = again.call("a").await;
    again.hears_nothing().await;
    // The running call may be given up as well: then the process is asked whether it is free.
    tool.result(&running, "given up").await;
    let call = loop {
        let (call, request) = next_call(&mut tool).await;
        if request == "a" {
            break call;
        }
    };
    tool.result(&call, "done").await;
    assert_eq!(again.text(id).await, "done");
}

/// The next call, past cancellations.
async fn next_call(tool: &mut Tool) -> (String, String) {
    loop {
        let envelope = tool.request().await;
        if let Some(Msg::CallTool(call)) = envelope.msg {
            return (envelope.request_id, call.name);
        }
    }
}

/// A call without a session, of a client that can be asked.
async fn call_without_a_session(host: &mut JsonPeer) -> u64 {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "h", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    });
    host.request("tools/call", json!({"name": "a", "arguments": {}, "_meta": meta})).await
}

pub(crate) async fn ask(tool: &mut Tool, call: &str) {
    let messages_json = json!([{"role": "user", "content": "?"}]).to_string().into();
    tool.send_for(call, call, SamplingRequest { messages_json, ..SamplingRequest::default() }).await;
}

/// Calls that ask and get no answer; their names.
async fn park(host: &mut JsonPeer, tool: &mut Tool, count: usize) -> Vec<String> {
    let mut calls = Vec::new();
    for _ in 0..count {
        let id = call_without_a_session(host).await;
        let (call, _) = tool.call().await;
        ask(tool, &call).await;
        assert_eq!(host.answer(id).await["result"]["resultType"], "input_required");
        calls.push(call);
    }
    calls
}

/// A question is withdrawn, and its handler ends.
pub(crate) async fn handler_ends(tool: &mut Tool) -> String {
    let envelope = tool.request().await;
    let Some(Msg::SamplingResponse(SamplingResponse { error, .. })) = envelope.msg else { panic!("{envelope:?}") };
    assert_eq!(error, "it was not answered in time, and calls of other users wait");
    tool.result(&envelope.request_id, "not answered").await;
    envelope.request_id
}

#[tokio::test]
async fn parked_calls_are_withdrawn_for_another_user_immediately() {
    let (stage, mut tool) = Stage::with(vec![Tool::definition("a")], |builder| builder.max_concurrent_calls(64)).await;
    let (mut ann, mut bob) = (stage.stranger_as("ann"), stage.host_as("bob", "{}").await);
    let parked = park(&mut ann, &mut tool, 64).await;
    // The oldest question is withdrawn immediately; the next one only if its handler has not ended after a while.
    let _clock = StoppedClock::new();
    let id = bob.call("a").await;
    assert_eq!(handler_ends(&mut tool).await, parked[0], "the oldest");
    let (call, _) = tool.call().await;
    tool.result(&call, "bob's").await;
    assert_eq!(bob.text(id).await, "bob's");
    tool.hears_nothing().await;
}

#[tokio::test]
async fn a_parked_call_holds_a_single_handler_for_seconds_only() {
    for session in [false, true] {
        let (stage, mut tool) = one_at_a_time().await;
        let (mut ann, mut bob) = (stage.stranger_as("ann"), stage.host_as("bob", "{}").await);
        let clock = StoppedClock::new();
        if session {
            ann.initialize("2025-11-25", json!({"sampling": {}})).await;
            ann.call("a").await;
            let (call, _) = tool.call().await;
            ask(&mut tool, &call).await;
            ann.expect("sampling/createMessage").await;
        } else {
            park(&mut ann, &mut tool, 1).await;
        }
        let id = bob.call("a").await;
        clock.advance(Duration::from_secs(4)).await;
        tool.hears_nothing().await;
        clock.advance(Duration::from_secs(1)).await;
        // The call asks once more, and is withdrawn immediately.
        let envelope = tool.request().await;
        assert!(matches!(envelope.msg, Some(Msg::SamplingResponse(_))), "{envelope:?}");
        ask(&mut tool, &envelope.request_id).await;
        clock.advance(Duration::from_secs(1)).await;
        handler_ends(&mut tool).await;
        let (call, _) = tool.call().await;
        tool.result(&call, "bob's").await;
        assert_eq!(bob.text(id).await, "bob's");
    }
}

#[tokio::test]
async fn a_lone_user_may_leave_questions_open() {
    let (stage, mut tool) = one_at_a_time().await;
    let (mut ann, mut more) = (stage.stranger_as("ann"), stage.host_as("ann", "{}").await);
    park(&mut ann, &mut tool, 1).await;
    more.call("a").await;
    // `open_questions` says so for all time to come.
    tool.hears_nothing().await;
}

#[tokio::test]
async fn a_user_with_many_questions_leaves_room_for_another() {
    let (stage, mut tool) = Stage::with(vec![Tool::definition("a")], |builder| builder.max_concurrent_calls(512)).await;
    let (mut ann, mut bob) = (stage.stranger_as("ann"), stage.stranger_as("bob"));
    park(&mut ann, &mut tool, 256).await;
    let id = call_without_a_session(&mut ann).await;
    let (call, _) = tool.call().await;
    ask(&mut tool, &call).await;
    let answer: SamplingResponse = tool.answer(&call).await;
    assert_eq!(answer.error, "too many questions wait for answers");
    tool.result(&call, "not asked").await;
    assert_eq!(ann.text(id).await, "not asked");
    park(&mut bob, &mut tool, 1).await;
}
