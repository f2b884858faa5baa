//! Reloads during calls: each call is answered by the process in which it began.

use std::time::Duration;

use protomcp_bridge::{Builder, ReloadMode};
use protomcp_envelope::{
    CreateTaskResponse, LogMessage, Msg, ProgressNotification, SamplingRequest, TaskStatusResponse, ToolDefinition,
};
use protomcp_testing::{JsonPeer, StoppedClock};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

async fn swapping(change: impl FnOnce(Builder) -> Builder) -> (Stage, Tool) {
    let tools = vec![ToolDefinition { task_support: true, ..Tool::definition("a") }];
    Stage::with(tools, |builder| change(builder.reload_mode(ReloadMode::Swap))).await
}

/// The next process replaces the one in service.
async fn takes_over(stage: &Stage, host: &mut JsonPeer) -> Tool {
    let mut next = stage.process().await;
    next.handshake(vec![Tool::definition("a")]).await;
    next.has_nothing_else().await;
    until_method(host, "notifications/tools/list_changed").await;
    next
}

async fn swap(stage: &Stage, host: &mut JsonPeer) -> Tool {
    stage.reload().await;
    takes_over(stage, host).await
}

async fn until_method(host: &mut JsonPeer, method: &str) -> Value {
    loop {
        let message = host.next().await;
        if message["method"] == method {
            return message;
        }
    }
}

async fn text_of(host: &mut JsonPeer, id: u64) -> String {
    let (answer, _) = host.until(id).await;
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn four_earlier_versions_finish_and_a_fifth_reload_waits() {
    let (stage, mut serving) = swapping(|builder| builder.drain_timeout(Duration::from_millis(100))).await;
    let mut host = stage.host("{}").await;
    let mut old = Vec::new();
    for _ in 0..4 {
        let id = host.call("a").await;
        let (call, _) = serving.call().await;
        old.push((serving, call, id));
        serving = swap(&stage, &mut host).await;
    }
    let latest = host.call("a").await;
    let (call, _) = serving.call().await;
    stage.reload().await;
    let waits = until_method(&mut host, "notifications/message").await;
    assert_eq!(waits["params"]["data"], "the files changed; the reload waits for running calls", "{waits}");
    assert!(stage.starts_nothing().await);
    // In any order; each is told to stop when its call has ended.
    let (mut second, its_call, its_id) = old.remove(1);
    second.result(&its_call, "second").await;
    assert_eq!(text_of(&mut host, its_id).await, "second");
    second.is_left().await;
    let sixth = takes_over(&stage, &mut host).await;
    for (mut tool, call, id) in old {
        tool.result(&call, "an old one").await;
        assert_eq!(text_of(&mut host, id).await, "an old one");
        tool.is_left().await;
    }
    serving.result(&call, "the fifth").await;
    assert_eq!(text_of(&mut host, latest).await, "the fifth");
    drop(sixth);
}

#[tokio::test]
async fn messages_of_earlier_versions_belong_to_their_own_calls() {
    let (stage, mut first) = swapping(|builder| builder).await;
    let able = r#"{"sampling":{}}"#;
    let (mut one, mut two) = (stage.host(able).await, stage.host(able).await);
    let begin = async |host: &mut JsonPeer, tool: &mut Tool, token: &str| {
        let params = json!({"name": "a", "arguments": {}, "_meta": {"progressToken": token}});
        let id = host.request("tools/call", params).await;
        let (call, request) = tool.call().await;
        (id, call, request.progress_token)
    };
    let (id_one, call_one, token_one) = begin(&mut one, &mut first, "one").await;
    let mut second = swap(&stage, &mut one).await;
    let (id_two, call_two, token_two) = begin(&mut two, &mut second, "two").await;
    let mut third = swap(&stage, &mut one).await;
    assert_eq!(call_one, call_two, "each process counts its calls from the start, so the names are the same");
    for (tool, call, progress_token, text) in
        [(&mut second, &call_two, token_two, "of two"), (&mut first, &call_one, token_one, "of one")]
    {
        let data_json = format!("\"{text}\"").into();
        tool.send_for(call, "", LogMessage { level: "error".into(), logger: String::new(), data_json }).await;
        let progress = ProgressNotification { progress_token, progress: 1, message: text.into(), ..Default::default() };
        tool.send("", progress).await;
        let content = json!([{"role": "user", "content": text}]).to_string().into();
        tool.send_for(call, "q", SamplingRequest { messages_json: content, ..Default::default() }).await;
    }
    for (host, text) in [(&mut one, "of one"), (&mut two, "of two")] {
        let mut seen = Vec::new();
        while seen.len() < 3 {
            let message = host.next().await;
            let method = message["method"].as_str().unwrap_or_default();
            if ["notifications/message", "notifications/progress", "sampling/createMessage"].contains(&method)
                && message["params"]["logger"] != "pmcp"
            {
                assert!(message.to_string().contains(text), "{text}: {message}");
                seen.push(method.to_owned());
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, ["notifications/message", "notifications/progress", "sampling/createMessage"]);
    }
    first.result(&call_one, "one").await;
    second.result(&call_two, "two").await;
    assert_eq!(text_of(&mut one, id_one).await, "one");
    assert_eq!(text_of(&mut two, id_two).await, "two");
    first.is_left().await;
    second.is_left().await;
    let last = two.call("a").await;
    let (call, _) = third.call().await;
    third.result(&call, "three").await;
    assert_eq!(text_of(&mut two, last).await, "three");
}

/// A task of a client that knows tasks, with its own time.
async fn begins_task(host: &mut JsonPeer, tool: &mut Tool) -> Value {
    let id = host.request("tools/call", json!({"name": "a", "arguments": {}, "task": {}})).await;
    let task = host.until(id).await.0["result"]["task"]["taskId"].take();
    let (call, _) = tool.call().await;
    tool.send(&call, CreateTaskResponse { task_id: "t".into() }).await;
    tool.until_asked_after().await;
    task
}

#[tokio::test]
async fn an_overdue_task_ends_only_when_its_slot_is_needed() {
    const TIMEOUT: Duration = Duration::from_secs(12);
    let (stage, mut tool) = swapping(|builder| builder.call_timeout(TIMEOUT).max_retiring(1)).await;
    let mut host = stage.host("{}").await;
    let task = begins_task(&mut host, &mut tool).await;
    let mut next = swap(&stage, &mut host).await;
    let clock = StoppedClock::new();
    clock.advance(2 * TIMEOUT).await;
    drop(clock);
    let id = host.request("tasks/get", json!({"taskId": task})).await;
    assert_eq!(host.until(id).await.0["result"]["status"], "working", "its place is not needed");
    stage.reload().await;
    let id = host.request("tasks/result", json!({"taskId": task})).await;
    let (answer, _) = host.until(id).await;
    let error = &answer["result"]["_meta"]["protomcp/error"];
    assert_eq!((&error["error_code"], &error["retryable"]), (&json!("RELOADED"), &json!(true)), "{answer}");
    tool.is_left().await;
    // The process in service needs the slot.
    let call = host.call("a").await;
    let (name, _) = next.call().await;
    let third = takes_over(&stage, &mut host).await;
    next.result(&name, "done").await;
    assert_eq!(text_of(&mut host, call).await, "done");
    drop(third);
}

impl Tool {
    /// The bridge polls the task.
    async fn until_asked_after(&mut self) {
        let status = self.request().await;
        assert!(matches!(status.msg, Some(Msg::TaskStatus(_))), "{status:?}");
        self.send(&status.request_id, TaskStatusResponse { state: "running".into(), ..Default::default() }).await;
    }
}
