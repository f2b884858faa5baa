//! A user with many calls keeps no other user from calling.

use serde_json::Value;

use crate::host::Host;
use crate::stage::Stage;
use crate::tool::Tool;

/// More than may wait, all of one user.
const SESSIONS: usize = 5;
const CALLS: usize = 1000;

async fn one_at_a_time() -> (Stage, Tool) {
    Stage::with(vec![Tool::definition("a")], |builder| builder.max_concurrent_calls(1)).await
}

/// Sessions of one user that fill the queue, and the call that runs.
async fn fill(stage: &Stage, tool: &mut Tool) -> (Vec<Host>, String) {
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
        // All of them have been taken in or refused by then.
        let ping = host.request("ping", serde_json::json!({})).await;
        host.until(ping).await;
        hosts.push(host);
    }
    (hosts, running.unwrap())
}

#[tokio::test]
async fn a_call_of_another_user_finds_room_in_a_full_queue_and_is_next() {
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

/// The answer to the call that made room for another.
async fn displaced(hosts: &mut [Host]) -> Value {
    let text = "call tool \"a\" made room in the full queue for another user; 4096 of your calls were waiting";
    for host in hosts.iter_mut().rev() {
        let ping = host.request("ping", serde_json::json!({})).await;
        let (_, before) = host.until(ping).await;
        let found = before.into_iter().find(|answer| answer["result"]["content"][0]["text"] == text);
        if let Some(answer) = found {
            return answer;
        }
    }
    panic!("no call has made room");
}

#[tokio::test]
async fn calls_that_give_up_all_at_once_leave_the_queue_at_once() {
    let (stage, mut tool) = one_at_a_time().await;
    let (hosts, running) = fill(&stage, &mut tool).await;
    drop(hosts);
    stage.hosts(0).await;
    // The same user, who would find no room if they still counted.
    let mut again = stage.host_as("ann", "{}").await;
    let id = again.call("a").await;
    again.hears_nothing().await;
    // The call that was running may be given up as well: then the process is asked whether it is free.
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
        if let Some(protomcp_proto::Msg::CallTool(call)) = envelope.msg {
            return (envelope.request_id, call.name);
        }
    }
}
