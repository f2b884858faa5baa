//! A store of tasks of the test's own, which keeps records as text and is shared by two servers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::{
    Audience, Context, Handler, Limits, NodeId, RequestStateKeys, Router, Server, ServerHandle, ServerInfo,
    SessionNotice, StoreAnswer, StoreError, Stores, TaskKey, TaskOptions, TaskRecord, TaskStore, TaskUpdate, Tasks,
};
use protomcp_testing::run_paused;
use protomcp_types::{CallTool, CallToolResult, CreateTaskResult, ErrorObject, RawJson, ServerCapabilities};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::task_extension::{ask, begin, later, look};
use super::transcript::{Host, Stage, connect_to, expand, full};

/// Answers later, as another process would.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Records in the order of their insertion.
    records: Mutex<BTreeMap<usize, String>>,
    inserted: AtomicUsize,
    /// The answers to the next insertions, each after these milliseconds.
    inserts: Mutex<VecDeque<(u64, Insert)>>,
    /// Has no room for results.
    is_narrow: bool,
    /// Answers no question.
    is_away: AtomicBool,
}

/// The answer to an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insert {
    /// The task is kept.
    Kept,
    /// The oldest task gives way to it.
    Evicts,
    /// There is no room.
    Full,
    /// The task is kept, and the answer is lost.
    Unavailable,
    /// The task is kept, and there is no answer.
    Never,
}

impl Shared {
    /// A store with these answers to the first insertions.
    pub(crate) fn answering(inserts: &[(u64, Insert)]) -> Arc<Self> {
        Arc::new(Self { inserts: Mutex::new(inserts.iter().copied().collect()), ..Self::default() })
    }

    /// A store that has no room for results, or has.
    pub(crate) fn narrow(is_narrow: bool) -> Arc<Self> {
        Arc::new(Self { is_narrow, ..Self::default() })
    }

    pub(crate) fn read(&self) -> Vec<TaskRecord> {
        let records = self.records.lock().unwrap();
        records.values().map(|text| TaskRecord::from_json(&RawJson::parse(text.clone()).unwrap()).unwrap()).collect()
    }

    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        let place = self.read().iter().position(|record| record.id() == id)?;
        self.records.lock().unwrap().keys().nth(place).copied()
    }

    fn write(&self, number: usize, task: &TaskRecord) {
        self.records.lock().unwrap().insert(number, task.to_json().into_raw().to_string());
    }
}

impl TaskStore for Shared {
    fn insert(&self, task: TaskRecord) -> StoreAnswer<'static, Option<Vec<String>>> {
        let (millis, insert) = self.inserts.lock().unwrap().pop_front().unwrap_or((0, Insert::Kept));
        let mut evicted = Vec::new();
        if insert == Insert::Evicts {
            evicted.push(self.read()[0].id().to_owned());
            self.remove(&evicted[0]);
        }
        if insert != Insert::Full {
            self.write(self.inserted.fetch_add(1, Ordering::Relaxed), &task);
        }
        Box::pin(async move {
            if millis > 0 {
                later(millis).await;
            }
            match insert {
                Insert::Kept | Insert::Evicts => Ok(Some(evicted)),
                Insert::Full => Ok(None),
                Insert::Unavailable => Err(StoreError::Unavailable),
                Insert::Never => std::future::pending().await,
            }
        })
    }

    fn update(&self, task: TaskRecord) -> TaskUpdate {
        if self.is_narrow && task.size > 0 {
            return TaskUpdate::NoRoom { evicted: Vec::new() };
        }
        if let Some(number) = self.number(task.id()) {
            self.write(number, &task);
        }
        TaskUpdate::Kept { evicted: Vec::new() }
    }

    fn find<'a>(&'a self, id: &'a str, key: &'a TaskKey) -> StoreAnswer<'a, Option<TaskRecord>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.is_away.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable);
            }
            Ok(self.read().into_iter().find(|record| record.id() == id && record.key == *key))
        })
    }

    fn list<'a>(&'a self, key: &'a TaskKey) -> StoreAnswer<'a, Vec<TaskRecord>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.is_away.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable);
            }
            Ok(self.read().into_iter().filter(|record| record.key == *key).collect())
        })
    }

    fn remove(&self, id: &str) {
        if let Some(number) = self.number(id) {
            self.records.lock().unwrap().remove(&number);
        }
    }
}

pub(crate) fn stores(node: &str, store: &Arc<Shared>) -> Stores {
    Stores::new(NodeId::new(node)).with_tasks(Arc::clone(store) as Arc<dyn TaskStore>)
}

fn server(node: &str, store: &Arc<Shared>) -> Stage {
    server_with(stores(node, store))
}

pub(crate) fn server_with(stores: Stores) -> Stage {
    Stage::with_stores(Limits::default(), RequestStateKeys::shared([[1; 32]]), stores)
}

#[test]
fn a_task_is_read_in_another_process_and_changed_in_its_own() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let (a, b) = (server("a", &store), server("b", &store));
        let (mut here, mut there) = (a.connect(), b.connect());
        let id = begin(&mut here, "task 100").await;
        for host in [&mut here, &mut there] {
            assert_eq!(look(host, &id).await["status"], "working");
        }
        for method in ["tasks/cancel", "tasks/update"] {
            let refused = ask(&mut there, method, &json!({"taskId": id, "inputResponses": {}})).await;
            let error = &refused["error"]["data"]["protomcp/error"];
            assert_eq!((&error["error_code"], &error["node"]), (&json!("WRONG_PROCESS"), &json!("a")), "{refused}");
        }
        later(100).await;
        for host in [&mut there, &mut here] {
            let ended = look(host, &id).await;
            assert_eq!(
                (&ended["status"], &ended["result"]["content"][0]["text"]),
                (&json!("completed"), &json!("done"))
            );
            assert!(ask(host, "tasks/cancel", &json!({"taskId": id})).await["error"].is_null(), "it has ended");
        }
        later(3_700_000).await;
        assert!(store.read().is_empty(), "its time is up");
    });
}

#[test]
fn a_task_in_a_shared_store_has_the_time_of_the_drain() {
    let limit = Limits::default().drain_timeout;
    for (task, is_shared, is_served, time, status) in [
        ("task 2000", true, true, Duration::from_secs(2), "completed"),
        ("task 1000000", true, true, limit, "failed"),
        ("task 1000000", true, false, Duration::ZERO, "failed"),
        ("task 1000000", false, true, Duration::ZERO, ""),
    ] {
        run_paused(async {
            let store = Arc::new(Shared::default());
            let stage = server_with(if is_shared { stores("a", &store) } else { Stores::default() });
            let id = begin(&mut stage.connect(), task).await;
            let (handle, began) = (stage.server.handle(), Instant::now());
            if !is_served {
                handle.serve_own_tasks_only();
            }
            handle.shutdown();
            handle.tasks_ended().await;
            assert_eq!(began.elapsed().as_secs(), time.as_secs(), "{task}");
            if is_shared {
                let ended = look(&mut server("b", &store).connect(), &id).await;
                assert_eq!(ended["status"], status, "{ended}");
                let error = &ended["error"]["data"]["protomcp/error"];
                let is_told = error["error_code"] == "SHUTTING_DOWN" && error["retryable"] == true;
                assert_eq!(is_told, status == "failed", "{ended}");
            }
        });
    }
}

#[test]
fn the_time_of_a_task_ends_during_the_drain() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let limits = Limits { drain_timeout: Duration::from_secs(1_000_000), ..Limits::default() };
        let stage = Stage::with_stores(limits, RequestStateKeys::shared([[1; 32]]), stores("a", &store));
        begin(&mut stage.connect(), "task 1000000000").await;
        let (handle, began) = (stage.server.handle(), Instant::now());
        handle.shutdown();
        handle.tasks_ended().await;
        assert_eq!(began.elapsed().as_secs(), 3_600, "the task is kept for an hour");
        assert!(store.read().is_empty());
    });
}

#[test]
fn questions_of_a_task_are_read_in_another_process() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let (a, b) = (server("a", &store), server("b", &store));
        let (mut here, mut there) = (a.connect(), b.connect());
        let id = begin(&mut here, "task-names").await;
        let asking = look(&mut there, &id).await;
        assert_eq!(asking["status"], "input_required");
        assert_eq!(asking["inputRequests"], look(&mut here, &id).await["inputRequests"]);
        assert!(ask(&mut here, "tasks/cancel", &json!({"taskId": id})).await["error"].is_null());
        assert_eq!(look(&mut there, &id).await["status"], "cancelled");
    });
}

#[test]
fn a_request_listens_to_a_task_of_another_process() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let (a, b) = (server("a", &store), server("b", &store));
        let (mut here, mut there) = (a.connect(), b.connect());
        let id = begin(&mut here, "task 100").await;
        let meta = r#"«2026 {"extensions":{"io.modelcontextprotocol/tasks":{}}}»"#;
        let filter = json!({"taskIds": [id, "unknown"]});
        let listen = format!(
            r#"{{"id":"l","method":"subscriptions/listen","params":{{"_meta":{{{meta}}},"notifications":{filter}}}}}"#
        );
        there.send(&full(&expand(&listen))).await;
        let acknowledged: Value = serde_json::from_str(&there.next().await.unwrap()).unwrap();
        assert_eq!(acknowledged["params"]["notifications"]["taskIds"], json!([id]), "{acknowledged}");
        later(100).await;
        let id = id.as_str().unwrap();
        // A change that cannot be read holds up no later one.
        store.is_away.store(true, Ordering::Relaxed);
        b.server.handle().deliver(&Audience::Everyone, SessionNotice::TaskChanged(id));
        later(1).await;
        store.is_away.store(false, Ordering::Relaxed);
        for notice in [SessionNotice::TaskChanged(id), SessionNotice::Missed] {
            b.server.handle().deliver(&Audience::Everyone, notice);
            let sent: Value = serde_json::from_str(&there.next().await.unwrap()).unwrap();
            let (sent_id, status) = (&sent["params"]["taskId"], &sent["params"]["status"]);
            assert_eq!((sent_id, status), (&json!(id), &json!("completed")), "{notice:?}");
        }
    });
}

#[test]
fn a_task_is_not_unknown_while_its_store_is_away() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let (a, b) = (server("a", &store), server("b", &store));
        let (mut here, mut there) = (a.connect(), b.connect());
        let id = begin(&mut here, "task 100").await;
        store.is_away.store(true, Ordering::Relaxed);
        let refused = ask(&mut there, "tasks/get", &json!({"taskId": id})).await;
        let error = &refused["error"]["data"]["protomcp/error"];
        assert_eq!((&error["error_code"], &error["retryable"]), (&json!("OVERLOADED"), &json!(true)), "{refused}");
        assert_eq!(look(&mut here, &id).await["status"], "working", "the process that runs it knows it");
        store.is_away.store(false, Ordering::Relaxed);
        assert_eq!(look(&mut there, &id).await["status"], "working");
    });
}

#[test]
fn a_server_may_keep_to_its_own_tasks() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let (a, b) = (server("a", &store), server("b", &store));
        b.server.handle().serve_own_tasks_only();
        let id = begin(&mut a.connect(), "task 1").await;
        later(1).await;
        assert_eq!(ask(&mut b.connect(), "tasks/get", &json!({"taskId": id})).await["error"]["code"], -32602);
        assert_eq!(look(&mut a.connect(), &id).await["status"], "completed");
    });
}

#[test]
fn tasks_and_results_without_room() {
    run_paused(async {
        let store = Shared::narrow(true);
        let mut host = server("a", &store).connect();
        let id = begin(&mut host, "task 1").await;
        later(1).await;
        assert_eq!(look(&mut host, &id).await["result"]["isError"], true);

        let full = Shared::answering(&[(0, Insert::Full)]);
        let mut host = server("a", &full).connect();
        let answer = ask(&mut host, "tools/call", &json!({"name": "task 1"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    });
}

pub(crate) struct Slow(Tasks);

impl Handler for Slow {
    fn info(&self) -> ServerInfo {
        ServerInfo::new("stage", "1").with_capabilities(ServerCapabilities::default().with_tools().with_tasks())
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        self.0
            .begin(&context, call.task_ttl(), TaskOptions::default(), async |context: Context| {
                context.set_task_message("half");
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(CallToolResult::text("done"))
            })
            .await
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.0)
    }
}

/// A server with sessions whose calls become tasks.
pub(crate) fn slow(stores: Stores) -> Server<Router<Slow>> {
    let info = ServerInfo::new("stage", "1").with_capabilities(ServerCapabilities::default().with_tools().with_tasks());
    let sessions = ServerHandle::with_stores(info, Limits::default(), RequestStateKeys::random(), stores);
    Server::with_sessions(sessions.clone(), Slow(Tasks::new(sessions)))
}

/// The answer to a request in a session; skips notifications before it.
async fn request(host: &mut Host, id: u32, method: &str, params: Value) -> Value {
    host.send(&full(&format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#))).await;
    loop {
        let line: Value = serde_json::from_str(&host.next().await.unwrap()).unwrap();
        if line["id"] == id {
            return line;
        }
    }
}

#[test]
fn tasks_of_a_session_are_in_the_store_until_it_ends() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let server = slow(stores("a", &store));
        let (mut host, mut other) = (connect_to(&server, 1 << 20, None), connect_to(&server, 1 << 20, None));
        host.steps(&["→ hello"]).await;
        other.steps(&["→ hello"]).await;
        let created = request(&mut host, 1, "tools/call", json!({"name": "slow", "task": {}})).await;
        let task = json!({"taskId": created["result"]["task"]["taskId"]});
        later(1).await;
        assert_eq!(store.read()[0].state.message(), Some("half"), "each change is written");
        let result = request(&mut host, 2, "tasks/result", task.clone()).await;
        assert_eq!(result["result"]["content"][0]["text"], "done", "{result}");
        assert_eq!(request(&mut host, 3, "tasks/get", task.clone()).await["result"]["status"], "completed");
        assert_eq!(request(&mut host, 4, "tasks/list", json!({})).await["result"]["tasks"][0]["status"], "completed");
        assert_eq!(request(&mut host, 5, "tasks/result", task.clone()).await["result"], result["result"], "it is kept");
        assert_eq!(request(&mut host, 6, "tasks/cancel", task.clone()).await["error"]["code"], -32602);
        other.send(&full(&format!(r#"{{"id":1,"method":"tasks/get","params":{task}}}"#))).await;
        assert!(other.next().await.unwrap().contains("unknown task"));
        assert_eq!(store.read().len(), 1);
        host.end().await;
        later(10_000).await;
        assert!(store.read().is_empty());
    });
}

/// The time of a task begins before the store has it.
#[test]
fn a_task_whose_time_is_up_is_unknown_although_its_store_has_it() {
    run_paused(async {
        let store = Arc::new(Shared::default());
        let mut host = connect_to(&slow(stores("a", &store)), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        let created = request(&mut host, 1, "tools/call", json!({"name": "slow", "task": {"ttl": 200}})).await;
        let task = json!({"taskId": created["result"]["task"]["taskId"]});
        later(150).await;
        assert_eq!(request(&mut host, 2, "tasks/get", task.clone()).await["result"]["status"], "completed");
        later(100).await;
        assert_eq!(store.read().len(), 1, "it is swept within a second");
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            assert_eq!(request(&mut host, 3, method, task.clone()).await["error"]["code"], -32602, "{method}");
        }
        assert_eq!(request(&mut host, 4, "tasks/list", json!({})).await["result"]["tasks"], json!([]));
    });
}
