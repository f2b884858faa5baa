//! Tasks of the process for clients without a session: the extension of 2026-07-28.

use protomcp_envelope::{CallToolResponse, Msg, SamplingRequest, SamplingResponse, ToolDefinition};
use protomcp_testing::JsonPeer;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tasks::{created, fetches, says, stage};
use crate::tool::Tool;

/// Sends a request with the `_meta` that each request of this revision has.
async fn ask(host: &mut JsonPeer, knows_tasks: bool, method: &str, mut params: Value) -> u64 {
    let extensions = if knows_tasks { json!({"io.modelcontextprotocol/tasks": {}}) } else { json!({}) };
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "extensions": extensions},
        "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    });
    host.request(method, params).await
}

async fn about(host: &mut JsonPeer, method: &str, params: Value) -> Value {
    let id = ask(host, true, method, params).await;
    host.answer(id).await
}

#[tokio::test]
async fn a_task_of_the_process_is_one_for_clients_with_tasks() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.stranger();
    let discovered = about(&mut host, "server/discover", json!({})).await;
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(capabilities["extensions"], json!({"io.modelcontextprotocol/tasks": {}}), "{discovered}");
    assert_eq!(capabilities["tasks"], Value::Null);
    let id = ask(&mut host, true, "tools/call", json!({"name": "slow"})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    let begun = host.answer(id).await;
    assert_eq!((&begun["result"]["resultType"], &begun["result"]["ttlMs"]), (&json!("task"), &json!(3_600_000)));
    let task = json!({"taskId": begun["result"]["taskId"]});
    says(&mut tool, "running", 3, "a third").await;
    // The state of the process arrives with the next poll.
    says(&mut tool, "running", 4, "a third").await;
    let working = about(&mut host, "tasks/get", task.clone()).await;
    assert_eq!(
        (&working["result"]["status"], &working["result"]["statusMessage"]),
        (&json!("working"), &json!("a third"))
    );
    says(&mut tool, "completed", 10, "").await;
    fetches(&mut tool, "the result").await;
    let done = loop {
        let state = about(&mut stage.stranger(), "tasks/get", task.clone()).await;
        if state["result"]["status"] != "working" {
            break state;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(done["result"]["status"], "completed", "{done}");
    assert_eq!(done["result"]["result"]["content"][0]["text"], "the result");
}

#[tokio::test]
async fn a_client_without_the_extension_waits_for_the_result() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.stranger();
    let id = ask(&mut host, false, "tools/call", json!({"name": "slow"})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    says(&mut tool, "completed", 10, "").await;
    fetches(&mut tool, "the result").await;
    assert_eq!(host.text(id).await, "the result");
}

#[tokio::test]
async fn a_task_is_cancelled_in_the_process_and_asks_through_itself() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.stranger();
    let id = ask(&mut host, true, "tools/call", json!({"name": "slow"})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    let task = host.answer(id).await["result"]["taskId"].clone();
    let messages_json = r#"[{"role":"user","content":"?"}]"#.into();
    tool.send_for(&call, "q", SamplingRequest { messages_json, ..SamplingRequest::default() }).await;
    says(&mut tool, "running", 1, "").await;
    let asking = loop {
        let state = about(&mut host, "tasks/get", json!({"taskId": task})).await;
        if state["result"]["status"] != "working" {
            break state;
        }
    };
    assert_eq!(asking["result"]["status"], "input_required", "{asking}");
    let requests = asking["result"]["inputRequests"].as_object().unwrap();
    let (key, question) = requests.iter().next().unwrap();
    assert_eq!(question["method"], "sampling/createMessage");
    let said = json!({"role": "assistant", "content": {"type": "text", "text": "!"}, "model": "m"});
    about(&mut host, "tasks/update", json!({"taskId": task, "inputResponses": {key: said}})).await;
    let answer = loop {
        let envelope = tool.request().await;
        match envelope.msg {
            Some(Msg::SamplingResponse(SamplingResponse { error, .. })) => break error,
            _ => tool.send(&envelope.request_id, running()).await,
        }
    };
    assert_eq!(answer, "");
    about(&mut host, "tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(about(&mut host, "tasks/get", json!({"taskId": task})).await["result"]["status"], "cancelled");
    loop {
        let envelope = tool.request().await;
        match &envelope.msg {
            Some(Msg::TaskCancel(cancel)) => break assert_eq!(cancel.task_id, "t-1"),
            _ => tool.send(&envelope.request_id, running()).await,
        }
    }
}

#[tokio::test]
async fn a_task_fails_or_is_completed_with_an_error_result() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.stranger();
    let id = ask(&mut host, true, "tools/call", json!({"name": "slow"})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    let task = host.answer(id).await["result"]["taskId"].clone();
    says(&mut tool, "failed", 0, "no disk").await;
    let failed = until_ended(&mut host, &task).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let error = &failed["error"];
    assert_eq!((&error["code"], error["message"].as_str().unwrap().contains("no disk")), (&json!(-32603), true));
    assert_eq!(error["data"]["protomcp/error"]["error_code"], "TASK_FAILED", "{failed}");

    let id = ask(&mut host, true, "tools/call", json!({"name": "slow"})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    let task = host.answer(id).await["result"]["taskId"].clone();
    says(&mut tool, "completed", 0, "").await;
    let envelope = tool.request().await;
    let answer = CallToolResponse { is_error: true, result_json: r#""full""#.into(), ..CallToolResponse::default() };
    tool.send(&envelope.request_id, answer).await;
    let completed = until_ended(&mut host, &task).await;
    assert_eq!((&completed["status"], &completed["result"]["isError"]), (&json!("completed"), &json!(true)));
}

async fn until_ended(host: &mut JsonPeer, task: &Value) -> Value {
    loop {
        let state = about(host, "tasks/get", json!({"taskId": task})).await["result"].take();
        if state["status"] != "working" {
            return state;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_question_right_after_a_new_task_belongs_to_the_task() {
    let (stage, mut tool) = stage(|builder| builder).await;
    let mut host = stage.stranger();
    // The order of the two messages depends on timing, therefore many rounds are needed.
    for round in 0..50 {
        let id = ask(&mut host, true, "tools/call", json!({"name": "slow"})).await;
        // The previous task was cancelled, and the bridge may still be sending this.
        let call = loop {
            let envelope = tool.request().await;
            match &envelope.msg {
                Some(Msg::CallTool(_)) => break envelope.request_id,
                Some(Msg::TaskStatus(_) | Msg::TaskCancel(_)) => tool.send(&envelope.request_id, running()).await,
                _ => {}
            }
        };
        tool.send(&call, created()).await;
        let messages_json = r#"[{"role":"user","content":"?"}]"#.into();
        tool.send_for(&call, "q", SamplingRequest { messages_json, ..SamplingRequest::default() }).await;
        let begun = host.answer(id).await;
        assert_eq!(begun["result"]["resultType"], "task", "{round}: {begun}");
        about(&mut host, "tasks/cancel", json!({"taskId": begun["result"]["taskId"]})).await;
    }
}

#[tokio::test]
async fn a_tool_that_requires_tasks_refuses_other_calls() {
    let must = ToolDefinition { task_required: true, ..Tool::definition("slow") };
    let (stage, mut tool) = Stage::with(vec![must], |builder| builder).await;
    let mut host = stage.host("{}").await;
    let id = host.request("tools/list", json!({})).await;
    assert_eq!(host.answer(id).await["result"]["tools"][0]["execution"], json!({"taskSupport": "required"}));
    let id = host.request("tools/call", json!({"name": "slow"})).await;
    assert_eq!(host.answer(id).await["error"]["code"], -32601);
    let mut stranger = stage.stranger();
    let id = ask(&mut stranger, false, "tools/call", json!({"name": "slow"})).await;
    let refused = stranger.answer(id).await["error"].take();
    let required = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    assert_eq!((&refused["code"], &refused["data"]), (&json!(-32021), &required));
    // The process has received none of these.
    let id = ask(&mut stranger, true, "tools/call", json!({"name": "slow"})).await;
    let (call, _) = tool.call().await;
    tool.send(&call, created()).await;
    assert_eq!(stranger.answer(id).await["result"]["resultType"], "task");
}

fn running() -> protomcp_envelope::TaskStatusResponse {
    protomcp_envelope::TaskStatusResponse { state: "running".into(), ..Default::default() }
}
