//! Tools whose calls are tasks of their session (MCP 2025-11-25, basic/utilities/tasks).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_server::{Context, Limits, TaskLimits, TaskOptions};
use protomcp_testing::run_paused;
use protomcp_typed::{Builder, Capability, DefinitionError, Registry, TaskError, Tool};
use protomcp_types::{Elicit, ErrorObject, Progress, RawJson, TaskSupport};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::host::{Host, with};

fn builder() -> Builder {
    Registry::builder("tasks", "1")
        .tool(Tool::new("plain", "Is never one").handler(async || "immediately"))
        .tool(Tool::new("either", "May be one").handler(work).task(TaskSupport::Optional))
        .tool(Tool::new("always", "Is always one").handler(work).task(TaskSupport::Required))
        .tool(Tool::new("asks", "Asks").handler(ask).task(TaskSupport::Optional))
        .tool(Tool::new("fails", "Fails").handler(async || Err::<(), _>("no luck")).task(TaskSupport::Optional))
        .tool(
            Tool::new("broken", "Cannot be carried out")
                .handler(async || Err::<(), _>(ErrorObject::internal("broken")))
                .task(TaskSupport::Optional),
        )
        .tool(
            Tool::new("gone", "Cannot be carried out by this machine")
                .handler(async || Err::<(), _>(TaskError::new("the machine has gone")))
                .task(TaskSupport::Optional),
        )
        .tool(Tool::new("panics", "Panics").handler(panics).task(TaskSupport::Optional))
}

/// A second of work, in two halves.
async fn work(context: Context) -> &'static str {
    context.progress(&Progress::new(1).with_message("the first half"));
    sleep(Duration::from_millis(500)).await;
    context.set_task_message("the second half");
    sleep(Duration::from_millis(500)).await;
    "done"
}

/// Asks after a moment, in which a client can begin to wait.
async fn ask(context: Context) -> String {
    sleep(Duration::from_millis(10)).await;
    let answer = context.ask::<Elicit>(&Elicit::form("who?", RawJson::EMPTY_OBJECT)).await;
    answer.map_or_else(|error| error.to_string(), |answer| format!("{:?}", answer.action))
}

async fn panics() -> &'static str {
    panic!("no such luck")
}

async fn begin(host: &mut Host, tool: &str, task: Value) -> String {
    let created = host.ask("tools/call", json!({"name": tool, "task": task})).await.unwrap();
    assert_eq!(created["task"]["status"], "working", "{created}");
    created["task"]["taskId"].as_str().unwrap().to_owned()
}

async fn about(host: &mut Host, method: &'static str, task: &str) -> Result<Value, Value> {
    host.ask(method, json!({"taskId": task})).await
}

#[test]
fn a_tool_declares_its_use_of_tasks_and_enforces_it() {
    with(&builder().build().unwrap(), async |mut host| {
        for (tool, execution, plain, task) in [
            ("plain", Value::Null, true, false),
            ("either", json!({"taskSupport": "optional"}), true, true),
            ("always", json!({"taskSupport": "required"}), false, true),
        ] {
            assert_eq!(host.definition(tool).await["execution"], execution);
            let called = host.ask("tools/call", json!({"name": tool})).await;
            assert!(called.as_ref().map_or_else(|error| !plain && error["code"] == -32601, |_| plain), "{called:?}");
            let called = host.ask("tools/call", json!({"name": tool, "task": {}})).await;
            assert!(called.as_ref().map_or_else(|error| !task && error["code"] == -32601, |_| task), "{called:?}");
        }
        assert_eq!(host.ask("tools/call", json!({"name": "unknown", "task": {}})).await.unwrap_err()["code"], -32602);
    });
}

#[test]
fn a_task_is_announced_polled_and_fetched() {
    with(&builder().build().unwrap(), async |mut host| {
        let params = json!({"name": "either", "task": {"ttl": 60000}, "_meta": {"progressToken": 7}});
        let created = host.ask("tools/call", params).await.unwrap()["task"].clone();
        assert!(host.told.is_empty(), "nothing is told before the answer: {:?}", host.told);
        assert_eq!((&created["ttl"], &created["pollInterval"]), (&json!(60000), &json!(1000)));
        let task = created["taskId"].as_str().unwrap().to_owned();
        let state = about(&mut host, "tasks/get", &task).await.unwrap();
        assert_eq!((&state["status"], &state["statusMessage"]), (&json!("working"), &json!("the first half")));
        let result = about(&mut host, "tasks/result", &task).await.unwrap();
        assert_eq!(result["content"][0]["text"], "done");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task.as_str());
        let told: Vec<_> = host.told.iter().map(|told| &told["params"]).collect();
        let related = json!({"io.modelcontextprotocol/related-task": {"taskId": task}});
        assert_eq!(told.iter().filter(|told| told["taskId"] == task.as_str()).count(), 3, "{told:?}");
        let progress: Vec<_> = told.iter().filter(|told| told["progressToken"] == 7).collect();
        assert_eq!(progress[0]["_meta"], related);
        assert_eq!(about(&mut host, "tasks/get", &task).await.unwrap()["status"], "completed");
        let listed = host.ask("tasks/list", json!({})).await.unwrap();
        assert_eq!(listed["tasks"][0]["taskId"], task.as_str());
        assert_eq!(host.ask("tasks/list", json!({"cursor": "x"})).await.unwrap_err()["code"], -32602);
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            assert_eq!(about(&mut host, method, "other").await.unwrap_err()["code"], -32602, "{method}");
        }
        // Its time ends, to the millisecond.
        sleep(Duration::from_millis(60_000)).await;
        assert_eq!(about(&mut host, "tasks/get", &task).await.unwrap_err()["code"], -32602);
    });
}

#[test]
fn a_task_asks_its_host_and_says_so() {
    run_paused(async {
        let registry = builder().build().unwrap();
        for waits in [false, true] {
            let mut host = Host::connect_with(&registry.server(), json!({"elicitation": {}})).await;
            let task = begin(&mut host, "asks", json!({})).await;
            let waiting =
                if waits { Some(host.peer.request("tasks/result", json!({"taskId": task})).await) } else { None };
            let asked = host.peer.next().await;
            assert_eq!(
                (&asked["params"]["status"], &asked["params"]["taskId"]),
                (&json!("input_required"), &json!(task))
            );
            let question = host.peer.next().await;
            let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
            assert_eq!((&question["method"], related), (&json!("elicitation/create"), &json!(task)));
            host.peer.reply(&question, json!({"action": "decline"})).await;
            assert_eq!(host.peer.next().await["params"]["status"], "working");
            assert_eq!(host.peer.next().await["params"]["status"], "completed");
            let result = match waiting {
                Some(id) => {
                    let answer = host.peer.next().await;
                    assert_eq!(answer["id"], id);
                    answer["result"].clone()
                }
                None => about(&mut host, "tasks/result", &task).await.unwrap(),
            };
            assert_eq!(result["content"][0]["text"], "Decline");
        }
        // A client without the capability is not asked.
        let mut host = Host::connect(&registry.server()).await;
        let task = begin(&mut host, "asks", json!({})).await;
        let result = about(&mut host, "tasks/result", &task).await.unwrap();
        assert!(result["content"][0]["text"].as_str().unwrap().contains("does not support"), "{result}");
    });
}

#[test]
fn a_question_outlives_the_request_that_waited_for_its_task() {
    run_paused(async {
        let registry = builder().build().unwrap();
        let mut host = Host::connect_with(&registry.server(), json!({"elicitation": {}})).await;
        let task = begin(&mut host, "asks", json!({})).await;
        let waiting = host.peer.request("tasks/result", json!({"taskId": task})).await;
        let mut questions = Vec::new();
        while questions.len() < 2 {
            let message = host.peer.next().await;
            if message["method"] != "elicitation/create" {
                continue;
            }
            questions.push(message);
            if questions.len() == 1 {
                host.peer.notify("notifications/cancelled", json!({"requestId": waiting})).await;
            }
        }
        host.peer.reply(&questions[1], json!({"action": "accept"})).await;
        let result = about(&mut host, "tasks/result", &task).await.unwrap();
        assert_eq!(result["content"][0]["text"], "Accept");
    });
}

#[test]
fn a_failed_task_has_the_error_of_the_call() {
    with(&builder().build().unwrap(), async |mut host| {
        for (tool, message) in [("fails", "no luck"), ("panics", "the tool panicked: no such luck")] {
            let task = begin(&mut host, tool, json!({})).await;
            let result = about(&mut host, "tasks/result", &task).await.unwrap();
            assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!(message)));
            let state = about(&mut host, "tasks/get", &task).await.unwrap();
            assert_eq!((&state["status"], &state["statusMessage"]), (&json!("failed"), &json!(message)));
        }
        let task = begin(&mut host, "broken", json!({})).await;
        let error = about(&mut host, "tasks/result", &task).await.unwrap_err();
        assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("broken")));
        assert_eq!(about(&mut host, "tasks/get", &task).await.unwrap()["status"], "failed");
    });
}

#[test]
fn a_task_error_is_a_result_where_there_is_no_task() {
    with(&builder().build().unwrap(), async |mut host| {
        let result = host.call("gone", json!({})).await;
        assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!("the machine has gone")));
        let task = begin(&mut host, "gone", json!({})).await;
        let error = about(&mut host, "tasks/result", &task).await.unwrap_err();
        assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!("the machine has gone")));
        assert_eq!(error["data"]["protomcp/error"]["error_code"], "TASK_FAILED");
    });
}

/// Counts calls that were dropped before their end.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn endless() -> (Builder, Arc<AtomicUsize>) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let tool = Tool::new("endless", "Does not end").handler(move || {
        let dropped = Dropped(Arc::clone(&count));
        async move {
            let _dropped = dropped;
            std::future::pending::<()>().await;
        }
    });
    (Registry::builder("tasks", "1").tool(tool.task(TaskSupport::Required)), dropped)
}

#[test]
fn a_task_is_cancelled_by_client_deadline_or_end_of_session() {
    run_paused(async {
        let (builder, dropped) = endless();
        let registry = builder.build().unwrap();
        let (mut host, mut other) = (Host::connect(&registry.server()).await, Host::connect(&registry.server()).await);
        let task = begin(&mut host, "endless", json!({})).await;
        assert_eq!(about(&mut other, "tasks/cancel", &task).await.unwrap_err()["code"], -32602);
        let cancelled = about(&mut host, "tasks/cancel", &task).await.unwrap();
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(about(&mut host, "tasks/cancel", &task).await.unwrap_err()["code"], -32602);
        assert_eq!(about(&mut host, "tasks/result", &task).await.unwrap()["isError"], true);
        sleep(Duration::from_secs(2)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        let task = begin(&mut host, "endless", json!({"ttl": 1000})).await;
        let waiting = host.peer.request("tasks/result", json!({"taskId": task})).await;
        sleep(Duration::from_secs(3)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), 2);
        loop {
            let message = host.peer.next().await;
            if message["id"] == waiting {
                break assert_eq!(message["result"]["isError"], true);
            }
        }
        begin(&mut host, "endless", json!({})).await;
        host.end().await.unwrap();
        sleep(Duration::from_secs(3)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn tasks_and_their_time_and_their_results_are_bounded() {
    run_paused(async {
        let registry = endless()
            .0
            .limits(Limits { tasks: TaskLimits { max_per_session: 2, ..TaskLimits::default() }, ..Limits::default() })
            .build()
            .unwrap();
        let (mut host, mut other) = (Host::connect(&registry.server()).await, Host::connect(&registry.server()).await);
        begin(&mut host, "endless", json!({})).await;
        let first = begin(&mut host, "endless", json!({"ttl": 3000})).await;
        let refused = host.ask("tools/call", json!({"name": "endless", "task": {}})).await.unwrap_err();
        assert_eq!(refused["code"], -32603);
        begin(&mut other, "endless", json!({})).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(about(&mut host, "tasks/get", &first).await.unwrap_err()["code"], -32602);
        begin(&mut host, "endless", json!({})).await;

        let tasks = TaskLimits { max_ttl: Duration::from_secs(5), max_bytes: 250, ..TaskLimits::default() };
        let limits = Limits { tasks, ..Limits::default() };
        let terms = TaskOptions { ttl: Duration::from_secs(9), poll_interval: Duration::from_millis(20) };
        let large = Tool::new("large", "Has a large result").handler(async || "x".repeat(80));
        let registry = Registry::builder("tasks", "1").tool(large.task(TaskSupport::Optional).task_terms(terms));
        let registry = registry.limits(limits).build().unwrap();
        let (mut host, mut other) = (Host::connect(&registry.server()).await, Host::connect(&registry.server()).await);
        let first = begin(&mut host, "large", json!({"ttl": 3000})).await;
        about(&mut host, "tasks/result", &first).await.unwrap();
        let theirs = begin(&mut other, "large", json!({})).await;
        about(&mut other, "tasks/result", &theirs).await.unwrap();
        let second = begin(&mut host, "large", json!({})).await;
        about(&mut host, "tasks/result", &second).await.unwrap();
        // The oldest result of the caller was evicted for the newest, across sessions.
        assert_eq!(about(&mut host, "tasks/get", &first).await.unwrap_err()["code"], -32602);
        let state = about(&mut host, "tasks/get", &second).await.unwrap();
        assert_eq!((&state["ttl"], &state["pollInterval"]), (&json!(5000), &json!(20)));
        assert_eq!(about(&mut other, "tasks/get", &theirs).await.unwrap()["status"], "completed");
    });
}

#[test]
fn only_servers_with_tasks_declare_the_capability() {
    run_paused(async {
        let tool = || Tool::new("either", "May be one").handler(work).task(TaskSupport::Optional);
        let plain = Registry::builder("tasks", "1").tool(Tool::new("plain", "").handler(async || ""));
        let none = plain.build().unwrap();
        assert_eq!(none.tools().insert(tool()), Err(DefinitionError::NotServed("tasks")));
        assert!(none.sessions().info().capabilities.tasks.is_none());
        let later = Registry::builder("tasks", "1").declare(Capability::Tasks).build().unwrap();
        assert_eq!(later.tools().insert(tool()), Ok(false));
        let mut host = Host::connect(&later.server()).await;
        begin(&mut host, "either", json!({})).await;
    });
}
