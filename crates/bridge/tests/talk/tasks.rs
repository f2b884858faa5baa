//! Tasks that a client requests, and tasks that a process makes of a call.

use std::time::Duration;

use protomcp_envelope::{
    CallToolResponse, CreateTaskResponse, Msg, ProgressNotification, SamplingRequest, SamplingResponse,
    TaskStatusResponse, ToolDefinition,
};
use protomcp_testing::{JsonPeer, StoppedClock};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

pub(crate) async fn stage(change: impl FnOnce(protomcp_bridge::Builder) -> protomcp_bridge::Builder) -> (Stage, Tool) {
    let slow = ToolDefinition { task_support: true, ..Tool::definition("slow") };
    Stage::with(vec![slow, Tool::definition("quick")], change).await
}

async fn begin(host: &mut JsonPeer, more: Value) -> String {
    let mut params = json!({"name": "slow", "arguments": {}, "task": {}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let id = host.request("tools/call", params).await;
    let answer = host.answer(id).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"], "working", "{answer}");
    task["taskId"].as_str().unwrap().to_owned()
}

/// Polls a task; skips notifications before the answer.
async fn about(host: &mut JsonPeer, method: &str, task: &str) -> Value {
    let id = host.request(method, json!({"taskId": task})).await;
    host.until(id).await.0
}

/// The process answers the next poll with this state. Returns any other message that was sent.
pub(crate) async fn says(tool: &mut Tool, state: &str, progress: i64, message: &str) {
    let envelope = tool.request().await;
    let Some(Msg::TaskStatus(status)) = &envelope.msg else { panic!("{envelope:?}") };
    let status = TaskStatusResponse {
        task_id: status.task_id.clone(),
        state: state.into(),
        progress,
        total: 10,
        message: message.into(),
    };
    tool.send(&envelope.request_id, status).await;
}

pub(crate) async fn fetches(tool: &mut Tool, text: &str) {
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::TaskResult(result)) if result.task_id == "t-1"), "{envelope:?}");
    tool.result(&envelope.request_id, text).await;
}

pub(crate) fn created() -> CreateTaskResponse {
    CreateTaskResponse { task_id: "t-1".into() }
}

#[tokio::test]
async fn tools_declare_their_support_of_tasks_and_enforce_it() {
    let (stage, _tool) = stage(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let id = host.request("tools/list", json!({})).await;
    let tools = host.answer(id).await["result"]["tools"].take();
    assert_eq!((&tools[0]["name"], &tools[0]["execution"]), (&json!("quick"), &Value::Null));
    assert_eq!(tools[1]["execution"], json!({"taskSupport": "optional"}));
    let id = host.request("tools/call", json!({"name": "quick", "task": {}})).await;
    assert_eq!(host.answer(id).await["error"]["code"], -32601);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(about(&mut host, method, "no such").await["error"]["code"], -32602, "{method}");
    }
}

#[tokio::test]
async fn a_client_that_requests_a_task_gets_it_and_its_result() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let (mut host, mut other) = (stage.host("{}").await, stage.host("{}").await);
    let task = begin(&mut host, json!({"_meta": {"progressToken": "p"}})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    says(&mut tool, "pending", 0, "").await;
    says(&mut tool, "running", 3, "a third").await;
    let mut told = [host.next().await, host.next().await, host.next().await];
    told.sort_by_key(|message| message["params"]["progress"].as_i64());
    assert_eq!(told[0]["method"], "notifications/tasks/status");
    assert_eq!(
        (&told[0]["params"]["statusMessage"], &told[0]["params"]["status"]),
        (&json!("a third"), &json!("working"))
    );
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": task}});
    let progress = json!({"progressToken": "p", "progress": 3, "total": 10, "message": "a third", "_meta": related});
    assert_eq!(told[2]["params"], progress);
    assert_eq!(about(&mut host, "tasks/get", &task).await["result"]["status"], "working");
    assert_eq!(about(&mut other, "tasks/get", &task).await["error"]["code"], -32602);
    let waiting = host.request("tasks/result", json!({"taskId": task})).await;
    says(&mut tool, "completed", 10, "").await;
    fetches(&mut tool, "the result").await;
    let (answer, _) = host.until(waiting).await;
    assert_eq!(answer["result"]["content"][0]["text"], "the result");
    assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task);
    assert_eq!(about(&mut host, "tasks/get", &task).await["result"]["status"], "completed");
    assert_eq!(about(&mut host, "tasks/cancel", &task).await["error"]["code"], -32602);
    let id = host.request("tasks/list", json!({})).await;
    assert_eq!(host.until(id).await.0["result"]["tasks"][0]["taskId"], task);
    let id = other.request("tasks/list", json!({})).await;
    assert_eq!(other.answer(id).await["result"]["tasks"], json!([]));
}

#[tokio::test]
async fn a_plain_result_of_the_process_can_answer_a_task() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let good = begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    tool.result(&call, "immediately").await;
    assert_eq!(about(&mut host, "tasks/result", &good).await["result"]["content"][0]["text"], "immediately");
    let bad = begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    let failed = CallToolResponse { is_error: true, result_json: r#""no""#.into(), ..CallToolResponse::default() };
    tool.send(&call, failed).await;
    assert_eq!(about(&mut host, "tasks/result", &bad).await["result"]["isError"], true);
    let state = about(&mut host, "tasks/get", &bad).await;
    assert_eq!((&state["result"]["status"], &state["result"]["statusMessage"]), (&json!("failed"), &json!("no")));
}

#[tokio::test]
async fn a_client_without_tasks_gets_the_result_of_one() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.host_of("2024-11-05", "{}").await;
    let params = json!({"name": "slow", "_meta": {"progressToken": 1}});
    let id = host.request("tools/call", params.clone()).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    says(&mut tool, "running", 3, "").await;
    says(&mut tool, "running", 2, "").await;
    says(&mut tool, "running", 7, "").await;
    says(&mut tool, "completed", 10, "").await;
    fetches(&mut tool, "the result").await;
    let (answer, before) = host.until(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "the result");
    assert_eq!(before.iter().map(|told| told["params"]["progress"].as_i64().unwrap()).collect::<Vec<_>>(), [3, 7]);
    for (state, text) in [
        ("failed", "the task of tool \"slow\" failed: out of paper"),
        ("cancelled", "the task of tool \"slow\" was cancelled by the tool process"),
        ("dancing", "call tool \"slow\": its task is in the unknown state \"dancing\""),
    ] {
        let id = host.request("tools/call", params.clone()).await;
        let (call, _) = tool.call().await;
        tool.send(&call, created()).await;
        says(&mut tool, state, 0, "out of paper").await;
        assert_eq!(host.text(id).await, text);
        if state == "dancing" {
            assert!(matches!(tool.request().await.msg, Some(Msg::TaskCancel(_))), "its caller is gone");
        }
    }
}

#[tokio::test]
async fn cancelling_reaches_the_task_of_the_process() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let task = begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    says(&mut tool, "running", 1, "").await;
    let cancelled = about(&mut host, "tasks/cancel", &task).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    let cancel = loop {
        let envelope = tool.request().await;
        match &envelope.msg {
            Some(Msg::TaskStatus(_)) => {}
            _ => break envelope,
        }
    };
    assert!(matches!(&cancel.msg, Some(Msg::TaskCancel(cancel)) if cancel.task_id == "t-1"), "{cancel:?}");
    assert_eq!(about(&mut host, "tasks/result", &task).await["result"]["isError"], true);
    // A task without an answer to its call is cancelled like a call, and so is the task of a plain call.
    let task = begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    about(&mut host, "tasks/cancel", &task).await;
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == call), "{envelope:?}");
    let id = host.call("slow").await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    says(&mut tool, "running", 1, "").await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": id}})).await;
    while !matches!(tool.request().await.msg, Some(Msg::TaskCancel(_))) {}
}

#[tokio::test]
async fn the_end_of_the_process_is_the_end_of_its_tasks() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let task = begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    says(&mut tool, "running", 1, "").await;
    drop(tool);
    let result = about(&mut host, "tasks/result", &task).await;
    assert_eq!(result["result"]["_meta"]["protomcp/error"]["error_code"], "TOOL_PROCESS_CRASHED", "{result}");
    assert_eq!(about(&mut host, "tasks/get", &task).await["result"]["status"], "failed");
}

#[tokio::test]
async fn a_task_is_kept_as_long_as_was_agreed() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let task = begin(&mut host, json!({"task": {"ttl": 60_000}})).await;
    let (call, _) = tool.call().await;
    let clock = StoppedClock::new();
    assert_eq!(about(&mut host, "tasks/get", &task).await["result"]["status"], "working");
    clock.advance(Duration::from_secs(60)).await;
    // The call is cut off in the middle, and the process is told.
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == call), "{envelope:?}");
    assert_eq!(about(&mut host, "tasks/get", &task).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_plain_call_that_becomes_a_task_has_the_time_of_a_call() {
    let (stage, mut tool) = stage(|builder| builder.call_timeout(Duration::from_millis(400))).await;
    let mut host = stage.host("{}").await;
    let id = host.call("slow").await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    while host_silent_says(&mut tool).await {}
    assert_eq!(host.text(id).await, "call tool \"slow\" timed out after 400ms");
}

/// It runs one handler at a time, and another call takes its time.
#[tokio::test]
async fn a_task_outlives_a_process_that_answers_no_poll_for_a_while() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    let id = host.call("slow").await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    let unanswered = polled(&mut tool, &clock).await;
    clock.advance(Duration::from_secs(30)).await;
    let poll = polled(&mut tool, &clock).await;
    assert_ne!(poll, unanswered);
    tool.send(&poll, TaskStatusResponse { state: "completed".into(), ..Default::default() }).await;
    fetches(&mut tool, "done at last").await;
    assert_eq!(host.text(id).await, "done at last");
}

/// Another call takes the time of the process, longer than a call may take.
#[tokio::test]
async fn the_result_of_a_task_has_the_time_of_the_task() {
    let (stage, mut tool) = stage(|builder| builder.call_timeout(Duration::from_secs(200))).await;
    let mut host = stage.host("{}").await;
    let task = begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    let clock = StoppedClock::new();
    tool.send(&call, created()).await;
    let poll = polled(&mut tool, &clock).await;
    tool.send(&poll, TaskStatusResponse { state: "completed".into(), ..Default::default() }).await;
    let fetch = tool.request().await;
    assert!(matches!(fetch.msg, Some(Msg::TaskResult(_))), "{fetch:?}");
    clock.advance(Duration::from_secs(300)).await;
    tool.result(&fetch.request_id, "done at last").await;
    drop(clock);
    let answer = about(&mut host, "tasks/result", &task).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done at last", "{answer}");
}

/// The id of the next poll of the task, which comes after a pause.
async fn polled(tool: &mut Tool, clock: &StoppedClock) -> String {
    clock.advance(Duration::from_secs(1)).await;
    let envelope = tool.request().await;
    assert!(matches!(&envelope.msg, Some(Msg::TaskStatus(_))), "{envelope:?}");
    envelope.request_id
}

/// Answers one poll of the task; `false` once it is to be cancelled.
async fn host_silent_says(tool: &mut Tool) -> bool {
    let envelope = tool.request().await;
    match &envelope.msg {
        Some(Msg::TaskStatus(_)) => {
            let status = TaskStatusResponse { state: "running".into(), ..TaskStatusResponse::default() };
            tool.send(&envelope.request_id, status).await;
            true
        }
        Some(Msg::TaskCancel(_)) => false,
        _ => panic!("{envelope:?}"),
    }
}

#[tokio::test]
async fn a_task_may_ask_its_client_after_the_call_was_answered() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let able = r#"{"sampling":{}}"#;
    let (mut host, mut other) = (stage.host(able).await, stage.host(able).await);
    begin(&mut host, json!({})).await;
    let (call, _) = tool.call().await;
    // Progress for a call without a listener goes nowhere.
    let report = ProgressNotification { progress_token: "x".into(), progress: 1, ..ProgressNotification::default() };
    tool.send("", report).await;
    let messages_json = r#"[{"role":"user","content":"?"}]"#.into();
    tool.send_for(&call, "q", SamplingRequest { messages_json, ..SamplingRequest::default() }).await;
    let status = host.expect("notifications/tasks/status").await;
    assert_eq!(status["params"]["status"], "input_required");
    let question = host.expect("sampling/createMessage").await;
    assert!(question["params"]["_meta"]["io.modelcontextprotocol/related-task"].is_object(), "{question}");
    let said = json!({"role": "assistant", "content": {"type": "text", "text": "!"}, "model": "m"});
    host.reply(&question, said).await;
    assert_eq!(tool.answer::<SamplingResponse>("q").await.error, "");
    assert_eq!(host.expect("notifications/tasks/status").await["params"]["status"], "working");
    other.hears_nothing().await;
}
