//! The tasks of several processes at one store.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use protomcp_redis::{RedisStores, RedisTasks, StoreOptions};
use protomcp_server::{
    NodeId, Owner, SessionId, StoreError, TaskEra, TaskKey, TaskLimits, TaskOptions, TaskRecord, TaskState, TaskStore,
    TaskUpdate,
};
use protomcp_testing::{in_time, until};
use protomcp_types::CallToolResult;

use crate::server::{RedisServer, connect, keys};

/// A task without a session that is kept for this time.
pub(crate) fn task_for(id: &str, principal: &str, ttl: Duration) -> TaskRecord {
    let options = TaskOptions { ttl, ..TaskOptions::default() };
    let state = TaskState::new(TaskEra::Stateless, id, options, SystemTime::now());
    let owner = Owner::Principal(principal.into());
    TaskRecord { key: key_of(principal), owner, node: NodeId::new("a"), state, questions: None, size: 0 }
}

fn task(id: &str) -> TaskRecord {
    task_for(id, "ann", Duration::from_secs(600))
}

fn key_of(principal: &str) -> TaskKey {
    TaskKey::Principal(Some(principal.into()))
}

/// The task, ended with a text.
pub(crate) fn ended(mut task: TaskRecord, text: &str) -> TaskRecord {
    task.state.end(Ok(CallToolResult::text(text).into()), SystemTime::now());
    task.size = text.len();
    task
}

pub(crate) fn tasks(stores: &RedisStores) -> Arc<RedisTasks> {
    stores.tasks(&TaskLimits::default())
}

async fn find(tasks: &RedisTasks, id: &str) -> Option<TaskRecord> {
    tasks.find(id, &key_of("ann")).await.expect("the store answers")
}

#[tokio::test]
async fn the_contract_of_tasks_holds() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    in_time(protomcp_server::contract::task_store(&*tasks(&stores))).await.expect("the store answers");
}

#[tokio::test]
async fn a_task_is_read_by_other_processes_and_after_the_end_of_its_own() {
    let server = RedisServer::start(&[]);
    let (stores, other) = (connect(&server, "secret").await, tasks(&connect(&server, "secret").await));
    let own = tasks(&stores);
    assert_eq!(own.insert(task("1")).await, Ok(Some(vec![])));
    let found = find(&other, "1").await.expect("the store has it before its client knows it");
    assert!(found.state.is_running() && found.node == NodeId::new("a"), "{found:?}");
    assert!(other.find("1", &key_of("bob")).await.expect("the store answers").is_none(), "it belongs to another");

    assert_eq!(own.update(ended(task("1"), "done")), TaskUpdate::Kept { evicted: vec![] });
    stores.flush().await;
    drop((own, stores));
    let found = find(&other, "1").await.expect("it is kept for its time");
    assert!(found.state.outcome().is_some_and(Result::is_ok), "{found:?}");

    let unknown = tasks(&connect(&server, "another").await);
    assert!(find(&unknown, "1").await.is_none(), "a process with other keys");
}

#[tokio::test]
async fn a_task_is_forgotten_everywhere_when_it_is_removed_or_its_time_is_up() {
    let server = RedisServer::start(&[]);
    let (stores, other) = (connect(&server, "secret").await, tasks(&connect(&server, "secret").await));
    let own = tasks(&stores);
    for record in [task("1"), task_for("2", "ann", Duration::from_secs(1))] {
        assert_eq!(own.insert(record).await, Ok(Some(vec![])));
    }
    own.remove("1");
    stores.flush().await;
    assert!(find(&other, "1").await.is_none());
    until("the key has expired", || server.keys().is_empty()).await;
    own.update(ended(task_for("2", "ann", Duration::from_secs(1)), "late"));
    stores.flush().await;
    assert!(find(&other, "2").await.is_none(), "a change does not bring it back");
}

#[tokio::test]
async fn a_task_that_makes_room_is_forgotten_everywhere() {
    let server = RedisServer::start(&[]);
    let (stores, other) = (connect(&server, "secret").await, tasks(&connect(&server, "secret").await));
    let own = stores.tasks(&TaskLimits { max: 2, ..TaskLimits::default() });
    for id in ["1", "2"] {
        assert_eq!(own.insert(task(id)).await, Ok(Some(vec![])));
    }
    let evicted = own.insert(task_for("3", "bob", Duration::from_secs(600))).await;
    assert_eq!(evicted, Ok(Some(vec!["1".to_owned()])));
    stores.flush().await;
    assert!(find(&other, "1").await.is_none() && find(&other, "2").await.is_some());
    assert_eq!(own.insert(task("4")).await, Ok(None), "one holder has all of the rest");
}

#[tokio::test]
async fn tasks_of_sessions_stay_in_their_process() {
    let server = RedisServer::start(&[]);
    let (stores, other) = (connect(&server, "secret").await, tasks(&connect(&server, "secret").await));
    let (own, key) = (tasks(&stores), TaskKey::Session(NodeId::new("a"), SessionId::new(1)));
    assert_eq!(own.insert(TaskRecord { key: key.clone(), ..task("1") }).await, Ok(Some(vec![])));
    own.update(TaskRecord { key: key.clone(), ..ended(task("1"), "done") });
    stores.flush().await;
    assert!(server.keys().is_empty(), "{:?}", server.keys());
    assert!(own.find("1", &key).await.is_ok_and(|found| found.is_some_and(|record| !record.state.is_running())));
    assert!(other.find("1", &key).await.is_ok_and(|found| found.is_none()));
}

/// A task that runs, and ends, while the store is away is in the store when that is back.
#[tokio::test]
async fn a_change_is_written_when_the_store_is_back() {
    let mut server = RedisServer::start(&[]);
    let options = StoreOptions::default().with_time_limit(Duration::from_millis(200));
    let stores = RedisStores::connect_with(&server.url(), keys("secret"), options).await.expect("the server answers");
    let own = tasks(&stores);
    assert_eq!(own.insert(task("1")).await, Ok(Some(vec![])));
    server.kill();
    assert_eq!(own.insert(task("2")).await, Err(StoreError::Unavailable));
    own.remove("2");
    assert!(find(&own, "2").await.is_none(), "a process reads its own writes");
    assert_eq!(own.find("3", &key_of("ann")).await.err(), Some(StoreError::Unavailable));
    own.update(ended(task("1"), "done"));
    assert!(find(&own, "1").await.is_some_and(|record| !record.state.is_running()), "its process knows it");

    server.restart();
    until("the task is in the store", || server.keys().len() == 1).await;
    let other = tasks(&connect(&server, "secret").await);
    assert!(find(&other, "1").await.is_some_and(|record| !record.state.is_running()));
    assert_eq!(own.insert(task("3")).await, Ok(Some(vec![])));
}
