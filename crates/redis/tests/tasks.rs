//! The tasks of several processes at one store.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use protomcp_redis::{RedisStores, RedisTasks, StoreOptions};
use protomcp_server::{
    Audience, NodeId, NoticeBus, NoticeReceiver, Owner, SessionId, SessionNotice, StoreError, TaskEra, TaskKey,
    TaskLimits, TaskOptions, TaskRecord, TaskState, TaskStore, TaskUpdate,
};
use protomcp_testing::{in_time, until};
use protomcp_types::CallToolResult;
use tokio::sync::mpsc;
use tokio::time::timeout;

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
async fn a_task_is_read_by_other_processes_and_after_its_process() {
    let server = RedisServer::start(&[]);
    let (stores, other) = (connect(&server, "secret").await, tasks(&connect(&server, "secret").await));
    let own = tasks(&stores);
    assert_eq!(own.insert(task("1")).await, Ok(Some(vec![])));
    let found = find(&other, "1").await.expect("the store has it before its client knows it");
    assert!(found.state.is_running() && found.node == NodeId::new("a"), "{found:?}");
    assert!(other.find("1", &key_of("bob")).await.expect("the store answers").is_none(), "it belongs to another");

    assert_eq!(own.update(ended(task("1"), "done")), TaskUpdate::Kept { evicted: vec![] });
    assert_eq!(stores.flush().await, 0);
    drop((own, stores));
    let found = find(&other, "1").await.expect("it is kept for its time");
    assert!(found.state.outcome().is_some_and(Result::is_ok), "{found:?}");

    let unknown = tasks(&connect(&server, "another").await);
    assert!(find(&unknown, "1").await.is_none(), "a process with other keys");
}

/// Another process, which reads a task when it is notified that this has changed.
struct Reader {
    tasks: Arc<RedisTasks>,
    read: mpsc::UnboundedSender<String>,
}

impl NoticeReceiver for Reader {
    fn deliver(&self, _: &Audience, notice: SessionNotice<'_>) {
        let SessionNotice::TaskChanged(id) = notice else { return };
        let (tasks, id, read) = (Arc::clone(&self.tasks), id.to_owned(), self.read.clone());
        tokio::spawn(async move {
            let state = match find(&tasks, &id).await {
                Some(task) if task.state.is_running() => "runs",
                Some(_) => "has ended",
                None => "is unknown",
            };
            // The test may be over.
            drop(read.send(format!("{id} {state}")));
        });
    }
}

/// There are more changes than writes under way, so the last one waits.
#[tokio::test]
async fn a_notice_follows_the_change_that_it_is_about() {
    let server = RedisServer::start(&[]);
    let (stores, others) = (connect(&server, "secret").await, connect(&server, "secret").await);
    let (own, bus) = (tasks(&stores), stores.notices(&NodeId::new("a")));
    let (read, mut seen) = mpsc::unbounded_channel();
    let reader = Arc::new(Reader { tasks: tasks(&others), read });
    let receiver: Weak<Reader> = Arc::downgrade(&reader);
    let receiving = others.notices(&NodeId::new("b"));
    receiving.subscribe(receiver);
    let ids: Vec<_> = (0..500).map(|number| number.to_string()).collect();
    for id in &ids {
        assert_eq!(own.insert(task(id)).await, Ok(Some(vec![])));
    }
    // The subscription may need a while.
    let connected = async {
        loop {
            bus.notify(Audience::Everyone, SessionNotice::TaskChanged("0"));
            if timeout(Duration::from_millis(50), seen.recv()).await.is_ok() {
                return;
            }
        }
    };
    in_time(connected).await.expect("a notice arrives");
    for id in &ids {
        own.update(ended(task(id), "done"));
    }
    bus.notify(Audience::Everyone, SessionNotice::TaskChanged("499"));
    let last = async {
        loop {
            let text = seen.recv().await.expect("the reader lives");
            if text.starts_with("499") {
                return text;
            }
        }
    };
    assert_eq!(in_time(last).await.expect("a notice arrives"), "499 has ended");
}

#[tokio::test]
async fn a_task_is_forgotten_when_it_is_removed_or_its_time_is_up() {
    let server = RedisServer::start(&[]);
    let (stores, other) = (connect(&server, "secret").await, tasks(&connect(&server, "secret").await));
    let own = tasks(&stores);
    for record in [task("1"), task_for("2", "ann", Duration::from_secs(1))] {
        assert_eq!(own.insert(record).await, Ok(Some(vec![])));
    }
    own.remove("1");
    assert_eq!(stores.flush().await, 0);
    assert!(find(&other, "1").await.is_none());
    until("the second one has expired", || server.keys().len() == 1).await;
    own.update(ended(task_for("2", "ann", Duration::from_secs(1)), "late"));
    assert_eq!(stores.flush().await, 0);
    assert!(find(&other, "2").await.is_none(), "a change does not bring it back");
}

/// Sends a script by hand.
pub(crate) fn run(server: &RedisServer, script: &str, key: &str, args: &[&[u8]]) -> i64 {
    let mut command = redis::cmd("EVAL");
    command.arg(script).arg(1).arg(key);
    for arg in args {
        command.arg(*arg);
    }
    command.query(&mut server.connection()).expect("the script runs")
}

#[tokio::test]
async fn a_write_that_comes_late_does_not_replace_a_later_one() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    let (own, other) = (tasks(&stores), tasks(&connect(&server, "secret").await));
    assert_eq!(own.insert(task("1")).await, Ok(Some(vec![])));
    let [key] = &server.keys()[..] else { panic!("{:?}", server.keys()) };
    let [number, record] = ["n", "d"].map(|field| -> Vec<u8> {
        redis::cmd("HGET").arg(key).arg(field).query(&mut server.connection()).expect("the task is there")
    });
    own.update(ended(task("1"), "done"));
    assert_eq!(stores.flush().await, 0);
    let put = |number: &[u8]| run(&server, include_str!("../src/scripts/put.lua"), key, &[number, &record, b"60000"]);
    assert_eq!(put(&number), 0);
    assert!(!find(&other, "1").await.expect("it is kept").state.is_running());
    own.remove("1");
    assert_eq!(stores.flush().await, 0);
    assert_eq!(put(&number), 0);
    assert!(find(&other, "1").await.is_none(), "a removed task does not come back");
    // One that is later is taken.
    assert_eq!(put(b"1000000"), 1);
    assert_eq!(run(&server, include_str!("../src/scripts/remove.lua"), key, &[&number, b"60000"]), 0);
    assert!(find(&other, "1").await.expect("it is kept").state.is_running());
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
    assert_eq!(stores.flush().await, 0);
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
    assert_eq!(stores.flush().await, 0);
    assert!(server.keys().is_empty(), "{:?}", server.keys());
    assert!(own.find("1", &key).await.is_ok_and(|found| found.is_some_and(|record| !record.state.is_running())));
    assert!(other.find("1", &key).await.is_ok_and(|found| found.is_none()));
}

/// A task that runs, and ends, while the store is away is in the store when that is back.
#[tokio::test]
async fn a_change_is_written_when_the_store_is_back() {
    let mut server = RedisServer::start(&[]);
    let options = StoreOptions::default().with_time_limit(Duration::from_secs(1));
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
    until("the change and the removal are in the store", || server.keys().len() == 2).await;
    let other = tasks(&connect(&server, "secret").await);
    assert!(find(&other, "1").await.is_some_and(|record| !record.state.is_running()));
    assert!(find(&other, "2").await.is_none());
    assert_eq!(own.insert(task("3")).await, Ok(Some(vec![])));
}
