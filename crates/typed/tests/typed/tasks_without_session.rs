//! Tools whose calls are tasks without a session: the extension `io.modelcontextprotocol/tasks` of MCP 2026-07-28.

use std::time::Duration;

use protomcp_server::{Context, Limits, TaskLimits, TaskOptions};
use protomcp_testing::run_paused;
use protomcp_typed::{Builder, Registry, Tool};
use protomcp_types::{Elicit, RawJson, TaskSupport};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::host::Host;

fn builder() -> Builder {
    Registry::builder("tasks", "1")
        .tool(Tool::new("plain", "Is never one").handler(async || "done"))
        .tool(Tool::new("either", "May be one").handler(work).task(TaskSupport::Optional))
        .tool(Tool::new("always", "Is always one").handler(work).task(TaskSupport::Required))
        .tool(Tool::new("decides", "Decides").handler(decide).task(TaskSupport::Optional).task_on_demand())
        .tool(Tool::new("insists", "Asks first").handler(decide).task(TaskSupport::Required).task_on_demand())
        .tool(Tool::new("large", "Has a large result").handler(large).task(TaskSupport::Optional))
}

async fn work(context: Context) -> &'static str {
    context.set_task_message("at it");
    sleep(Duration::from_secs(1)).await;
    "done"
}

/// Asks, and then becomes a task.
async fn decide(context: Context) -> String {
    let answer = context.ask::<Elicit>(&Elicit::form("sure?", RawJson::EMPTY_OBJECT)).key("sure").await;
    let is_task = context.continue_as_task(TaskOptions::default());
    sleep(Duration::from_secs(1)).await;
    format!("{:?} {is_task}", answer.unwrap().action)
}

async fn large() -> String {
    sleep(Duration::from_secs(1)).await;
    "x".repeat(80)
}

/// A client without a handshake.
fn stranger(registry: &Registry) -> Host {
    Host::silent(&registry.server())
}

async fn ask(host: &mut Host, knows_tasks: bool, method: &'static str, mut params: Value) -> Result<Value, Value> {
    params["_meta"] = meta(knows_tasks);
    host.ask(method, params).await
}

fn meta(knows_tasks: bool) -> Value {
    let extensions = if knows_tasks { json!({"io.modelcontextprotocol/tasks": {}}) } else { json!({}) };
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "extensions": extensions},
    })
}

async fn begin(host: &mut Host, tool: &str) -> String {
    let begun = ask(host, true, "tools/call", json!({"name": tool})).await.unwrap();
    assert_eq!(begun["resultType"], "task", "{begun}");
    begun["taskId"].as_str().unwrap().to_owned()
}

async fn look(host: &mut Host, task: &str) -> Result<Value, Value> {
    ask(host, true, "tasks/get", json!({"taskId": task})).await
}

#[test]
fn the_server_decides_which_call_is_a_task() {
    run_paused(async {
        let mut host = stranger(&builder().build().unwrap());
        for (tool, knowing, unknowing) in [
            ("plain", "complete", Ok("complete")),
            ("either", "task", Ok("complete")),
            ("always", "task", Err(-32021)),
            ("decides", "input_required", Ok("input_required")),
            ("insists", "input_required", Err(-32021)),
        ] {
            // The task parameter of another revision has no effect.
            let params = json!({"name": tool, "task": {}});
            let answer = ask(&mut host, true, "tools/call", params.clone()).await.unwrap();
            assert_eq!(answer["resultType"], knowing, "{tool}");
            let answer = ask(&mut host, false, "tools/call", params).await;
            let answer = answer.as_ref().map(|result| result["resultType"].as_str().unwrap());
            assert_eq!(answer.map_err(|error| error["code"].as_i64().unwrap()), unknowing, "{tool}");
        }
    });
}

#[test]
fn a_task_says_what_it_is_doing() {
    run_paused(async {
        let mut host = stranger(&builder().build().unwrap());
        let task = begin(&mut host, "either").await;
        let state = look(&mut host, &task).await.unwrap();
        assert_eq!((&state["status"], &state["statusMessage"]), (&json!("working"), &json!("at it")));
        sleep(Duration::from_secs(1)).await;
        let state = look(&mut host, &task).await.unwrap();
        assert_eq!((&state["status"], &state["result"]["content"][0]["text"]), (&json!("completed"), &json!("done")));
    });
}

#[test]
fn a_task_knows_the_answers_from_before_it_became_one() {
    run_paused(async {
        let mut host = stranger(&builder().build().unwrap());
        let asked = ask(&mut host, true, "tools/call", json!({"name": "insists"})).await.unwrap();
        assert!(asked["inputRequests"]["sure"].is_object() && asked["taskId"].is_null(), "{asked}");
        let again = json!({
            "name": "insists",
            "requestState": asked["requestState"],
            "inputResponses": {"sure": {"action": "accept"}},
        });
        let begun = ask(&mut host, true, "tools/call", again).await.unwrap();
        assert_eq!((&begun["resultType"], &begun["requestState"]), (&json!("task"), &Value::Null), "{begun}");
        sleep(Duration::from_secs(1)).await;
        let done = look(&mut host, begun["taskId"].as_str().unwrap()).await.unwrap();
        assert_eq!(done["result"]["content"][0]["text"], "Accept true");
    });
}

#[test]
fn a_listener_of_a_task_gets_the_polled_states() {
    run_paused(async {
        let registry = builder().build().unwrap();
        let (mut host, mut listener) = (stranger(&registry), stranger(&registry));
        let task = begin(&mut host, "either").await;
        let other = begin(&mut host, "large").await;
        let filter = json!({"taskIds": [task, "unknown"], "toolsListChanged": true});
        let refused = ask(&mut listener, false, "subscriptions/listen", json!({"notifications": filter})).await;
        assert_eq!(refused.unwrap_err()["code"], -32021);
        let id =
            listener.peer.request("subscriptions/listen", json!({"notifications": filter, "_meta": meta(true)})).await;
        let acknowledged = listener.peer.next().await;
        assert_eq!(acknowledged["params"]["notifications"], json!({"taskIds": [task], "toolsListChanged": true}));
        let told = listener.peer.next().await;
        assert_eq!((&told["method"], &told["params"]["status"]), (&json!("notifications/tasks"), &json!("completed")));
        let mut told = told["params"].clone();
        assert_eq!(told["_meta"], json!({"io.modelcontextprotocol/subscriptionId": id}));
        let mut asked = look(&mut host, &task).await.unwrap();
        for members in [&mut told, &mut asked] {
            let members = members.as_object_mut().unwrap();
            members.remove("_meta");
            members.remove("resultType");
        }
        assert_eq!(told, asked);
        assert!(listener.peer.is_silent_for(Duration::from_secs(60)).await, "{other} is not notified of");
    });
}

#[test]
fn results_are_evicted_after_their_time_or_for_newer_ones() {
    run_paused(async {
        let tasks = TaskLimits { max_bytes: 150, max_ttl: Duration::from_secs(5), ..TaskLimits::default() };
        let limits = Limits { tasks, ..Limits::default() };
        let mut host = stranger(&builder().limits(limits).build().unwrap());
        let first = begin(&mut host, "large").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(look(&mut host, &first).await.unwrap()["ttlMs"], 5000);
        let second = begin(&mut host, "large").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(look(&mut host, &second).await.unwrap()["status"], "completed");
        assert_eq!(look(&mut host, &first).await.unwrap_err()["code"], -32602);
        sleep(Duration::from_secs(4)).await;
        assert_eq!(look(&mut host, &second).await.unwrap_err()["code"], -32602);
    });
}
