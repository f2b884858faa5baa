//! The shutdown of a server with running calls.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_http::Config;
use protomcp_server::{NodeId, StoreAnswer, Stores, TaskKey, TaskRecord, TaskStore, TaskUpdate};
use protomcp_testing::in_time;
use tokio::sync::Notify;

use super::client::{call, done, initialize};
use super::handler::Stage;
use super::questions::asked;

#[tokio::test]
async fn clients_answer_and_cancel_until_the_last_call_has_ended() {
    let stage = Stage::local().await;
    let host = stage.host.hello_with("2025-11-25", r#"{"roots":{}}"#).await;
    let mut asking = host.post(&call(1, "roots")).await;
    let question = asked(&mut asking).await;
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { host.post(&call(2, "wait")).await.status }
    });
    stage.tools.begun().await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();

    stage.sessions.shutdown();
    let stranger = &stage.host;
    for refused in [
        host.post(&call(3, "echo x")).await,
        stranger.post(&initialize("2025-11-25", "{}")).await,
        stranger.with("mcp-protocol-version", "2026-07-28").post(&super::eras::tool("echo x", "")).await,
    ] {
        assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "5"));
    }
    let drained = stage.service.drained();
    tokio::pin!(drained);
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut drained).await.is_err(), "calls are running");
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(host.say(cancel).await.0, 202);
    in_time(stage.tools.has_dropped.notified()).await.expect("it is not cancelled");
    let answer = format!(r#"{{"id":{question},"result":{{"roots":[{{"uri":"file:///a"}}]}}}}"#);
    assert_eq!(host.say(&answer).await.0, 202);
    assert_eq!(asking.event().await.unwrap().data, done(1, "1 roots"));
    in_time(drained).await.expect("it does not end");
    assert_eq!(listening.event().await, None);
    waiting.await.unwrap();
    assert_eq!(host.say(cancel).await.0, 404, "the session is over");
}

#[tokio::test]
async fn a_client_that_was_away_still_fetches_its_answer() {
    let stage = Stage::new(Config::default()).await;
    let host = stage.host.hello("2025-11-25").await;
    let mut answer = host.post(&call(1, "leave")).await;
    let opening = answer.event().await.unwrap();
    assert_eq!(answer.event().await, None);
    stage.sessions.shutdown();
    let mut again = host.with("last-event-id", opening.id.as_deref().unwrap()).get().await;
    assert_eq!(again.status, 200);
    stage.tools.go.notify_one();
    assert_eq!(again.event().await.unwrap().data, done(1, "done"));
}

/// A store that never finds a task.
#[derive(Debug, Default)]
struct Silent {
    asked: Notify,
    open: AtomicUsize,
}

struct Search<'a>(&'a AtomicUsize);

impl Drop for Search<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl TaskStore for Silent {
    fn insert(&self, _: TaskRecord) -> StoreAnswer<'static, Option<Vec<String>>> {
        Box::pin(ready(Ok(None)))
    }

    fn update(&self, _: TaskRecord) -> TaskUpdate {
        TaskUpdate::NoRoom { evicted: Vec::new() }
    }

    fn find<'a>(&'a self, _: &'a str, _: &'a TaskKey) -> StoreAnswer<'a, Option<TaskRecord>> {
        self.open.fetch_add(1, Ordering::SeqCst);
        self.asked.notify_one();
        Box::pin(async {
            let _search = Search(&self.open);
            pending().await
        })
    }

    fn list<'a>(&'a self, _: &'a TaskKey) -> StoreAnswer<'a, Vec<TaskRecord>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn remove(&self, _: &str) {}
}

/// Anyone can ask about tasks, again and again.
#[tokio::test]
async fn requests_about_tasks_pass_and_keep_no_server() {
    let store = Arc::new(Silent::default());
    let stores = Stores::new(NodeId::new("a")).with_tasks(Arc::clone(&store) as Arc<dyn TaskStore>);
    let stage = Stage::with_stores(Config::default(), stores).await;
    stage.sessions.shutdown();
    let host = stage.host.with("mcp-protocol-version", "2026-07-28");
    let host = host.with("mcp-method", "tasks/get").with("mcp-name", "t");
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    let request = format!(r#"{{"id":1,"method":"tasks/get","params":{{"taskId":"t",{meta}}}}}"#);
    tokio::spawn(async move { host.post(&request).await.status });
    in_time(store.asked.notified()).await.expect("the request is not refused");
    in_time(stage.service.drained()).await.expect("it does not end");
    assert_eq!(store.open.load(Ordering::SeqCst), 1, "the server waits for no answer");
}
