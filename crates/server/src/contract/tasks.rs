//! The contract of [`TaskStore`].

use std::time::{Duration, SystemTime};

use protomcp_types::CallToolResult;

use crate::records::node::NodeId;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_store::TaskStore;
use crate::records::task_update::TaskUpdate;
use protomcp_fair::Owner;
use protomcp_session::{SessionId, TaskEra, TaskOptions, TaskState};

/// Checks that a store finds tasks by id and key as they were last written, and forgets those that are removed. The
/// store must have room for six tasks and their short results.
///
/// # Panics
/// When it does not.
pub async fn task_store(store: &dyn TaskStore) {
    let ann = TaskKey::Principal(Some("ann".into()));
    let session = TaskKey::Session(NodeId::new("a"), SessionId::new(1));
    let keys = [ann.clone(), TaskKey::Principal(None), session.clone(), ann.clone()];
    for (id, key) in ["1", "2", "3", "4"].into_iter().zip(&keys) {
        assert_eq!(store.insert(record(id, key)).await, Ok(Some(vec![])), "there is room");
    }
    for (id, key) in ["1", "2", "3", "4"].into_iter().zip(&keys) {
        let found = find(store, id, key).await.expect("it is kept");
        assert_eq!((found.id(), &found.key, found.state.is_running()), (id, key, true));
    }
    for key in [TaskKey::Principal(None), TaskKey::Principal(Some("bob".into())), session.clone()] {
        assert!(find(store, "1", &key).await.is_none(), "the key of another");
    }
    let other_node = TaskKey::Session(NodeId::new("b"), SessionId::new(1));
    assert!(find(store, "3", &other_node).await.is_none(), "sessions of two processes have the same numbers");
    assert_eq!(ids(&list(store, &ann).await), ["1", "4"], "oldest first");
    assert!(list(store, &other_node).await.is_empty());

    let mut changed = record("1", &ann);
    changed.state.set_message("half", SystemTime::now());
    assert_eq!(store.update(changed), TaskUpdate::Kept { evicted: vec![] });
    assert_eq!(
        find(store, "1", &ann).await.and_then(|found| found.state.message().map(str::to_owned)).as_deref(),
        Some("half")
    );
    let mut ended = record("4", &ann);
    ended.size = 4;
    ended.state.end(Ok(CallToolResult::text("done").into()), SystemTime::now());
    assert_eq!(store.update(ended), TaskUpdate::Kept { evicted: vec![] });
    let ended = find(store, "4", &ann).await.expect("an ended task is kept");
    assert!(!ended.state.is_running() && ended.state.outcome().is_some_and(Result::is_ok) && ended.size == 4);

    store.remove("1");
    store.remove("1");
    assert!(find(store, "1", &ann).await.is_none());
    assert_eq!(store.update(record("1", &ann)), TaskUpdate::Kept { evicted: vec![] });
    assert!(find(store, "1", &ann).await.is_none(), "a change does not bring a task back");
    assert_eq!(ids(&list(store, &ann).await), ["4"]);
    assert!(find(store, "3", &session).await.is_some());
    writes_keep_their_order(store, &session).await;
}

/// The writes of a task are entered together, and only then is the first one awaited.
async fn writes_keep_their_order(store: &dyn TaskStore, key: &TaskKey) {
    let inserted = store.insert(record("5", key));
    let mut changed = record("5", key);
    changed.state.set_message("half", SystemTime::now());
    assert_eq!(store.update(changed), TaskUpdate::Kept { evicted: vec![] });
    assert_eq!(inserted.await, Ok(Some(vec![])), "there is room");
    let found = find(store, "5", key).await.expect("it is kept");
    assert_eq!(found.state.message(), Some("half"), "a change follows the insertion");

    drop(store.insert(record("6", key)));
    store.remove("6");
    assert!(find(store, "6", key).await.is_none(), "the task is removed without the answer to its insertion");
    let inserted = store.insert(record("6", key));
    store.remove("6");
    // It has been there, or has not.
    let _ = inserted.await;
    assert!(find(store, "6", key).await.is_none(), "a removal follows the insertion");
}

async fn find(store: &dyn TaskStore, id: &str, key: &TaskKey) -> Option<TaskRecord> {
    store.find(id, key).await.expect("the store answers")
}

async fn list(store: &dyn TaskStore, key: &TaskKey) -> Vec<TaskRecord> {
    store.list(key).await.expect("the store answers")
}

fn record(id: &str, key: &TaskKey) -> TaskRecord {
    let options = TaskOptions { ttl: Duration::from_secs(60), ..TaskOptions::default() };
    let state = TaskState::new(TaskEra::Stateless, id, options, SystemTime::now());
    TaskRecord { key: key.clone(), owner: Owner::Local, node: NodeId::new("a"), state, questions: None, size: 0 }
}

fn ids(records: &[TaskRecord]) -> Vec<&str> {
    records.iter().map(TaskRecord::id).collect()
}
