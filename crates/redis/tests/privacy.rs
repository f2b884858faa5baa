//! The contents of a store, as its readers see them.

use std::sync::Arc;

use bytes::Bytes;
use protomcp_http::{Entry, EventKey, EventStore, Replayed, Write};
use protomcp_redis::RedisStores;
use protomcp_server::{Claim, ClientInfo, FencingToken, LeaseStore, Owner, SessionSnapshot, SessionState, TaskStore};
use protomcp_types::{ClientCapabilities, Implementation, Level, ProtocolVersion, RawJson, RequestId};

use crate::server::{LONG, RedisServer, connect, lease};
use crate::tasks;

const SESSION: &str = "hunter2-session";

/// A state in which every text is a secret.
pub(crate) fn snapshot() -> SessionSnapshot {
    let client = ClientInfo {
        version: ProtocolVersion::V2025_11_25,
        implementation: Implementation::new("hunter2-client", "hunter2"),
        capabilities: ClientCapabilities::default(),
    };
    let state = SessionState {
        client: Arc::new(client),
        level: Level::Debug,
        subscriptions: vec!["file:///hunter2-resource".to_owned()],
        selection: Some(RawJson::text("hunter2-selection")),
    };
    SessionSnapshot {
        state,
        principal: Some("hunter2-principal".into()),
        address: Some([127, 0, 0, 1].into()),
        scopes: vec!["hunter2-scope".to_owned()],
    }
}

/// Enters an entry, and waits for its write.
pub(crate) async fn append(stores: &RedisStores, key: EventKey<'_>, entry: Entry<'_>) {
    append_as(stores, FencingToken::FIRST, key, entry).await;
}

/// Enters an entry with a token, and waits for its write.
pub(crate) async fn append_as(stores: &RedisStores, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) {
    let owner = Owner::Principal("hunter2-principal".into());
    let write = stores.events().append(&owner, token, key, entry);
    let written = match write {
        Write::Done(written) => written,
        Write::Pending(write) => write.await,
    };
    assert_eq!(written, Ok(()));
}

/// A session with a state, a request without an answer and an event.
async fn fill(stores: &RedisStores) {
    let (leases, name) = (stores.leases(), lease("visible-node"));
    assert_eq!(leases.register(&name, LONG).await, Ok(true));
    assert_eq!(leases.announce(&name, "http://hunter2.example/").await, Ok(true));
    assert_eq!(leases.open(SESSION, &name).await, Ok(Claim::Granted(FencingToken::FIRST, None)));
    assert_eq!(leases.save(SESSION, FencingToken::FIRST, &snapshot()).await, Ok(true));
    let (request, event) = (RequestId::from("hunter2-request"), vec![Bytes::from("data: hunter2-event\n\n")]);
    append(stores, EventKey { session: SESSION, stream: 1, number: 0 }, Entry::Opened { requests: &[&request] }).await;
    append(stores, EventKey { session: SESSION, stream: 1, number: 1 }, Entry::Event { event: &event, answers: None })
        .await;
    let task = tasks::task_for("hunter2-task", "hunter2-principal", LONG);
    let kept = tasks::tasks(stores);
    assert_eq!(kept.insert(task.clone()).await, Ok(Some(vec![])));
    kept.update(tasks::ended(task, "hunter2-result"));
    assert_eq!(stores.flush().await, 0);
}

#[tokio::test]
async fn a_store_shows_neither_ids_nor_contents() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    fill(&stores).await;
    let keys = server.keys();
    assert_eq!(keys.len(), 8, "leases, addresses, session, log, events, requests, order and task: {keys:?}");
    let values: Vec<Vec<u8>> = keys.iter().map(|key| server.ask(&["DUMP", key])).collect();
    let has = |text: &str| {
        let is_in = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        keys.iter().any(|key| is_in(key.as_bytes())) || values.iter().any(|value| is_in(value))
    };
    assert!(has("visible-node.1") && has("pmcp:"), "the names of processes and keys are found");
    assert!(!has("hunter2"), "{keys:?}");
}

#[tokio::test]
async fn every_key_expires() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    fill(&stores).await;
    assert_eq!(stores.leases().release(SESSION, FencingToken::FIRST).await, Ok(true));
    for key in server.keys() {
        let left: i64 = server.ask(&["PTTL", &key]);
        assert!(left > 0, "{key} lives for {left} ms");
    }
}

#[tokio::test]
async fn stores_with_a_prefix_share_nothing() {
    let server = RedisServer::start(&[]);
    let url = server.url_with("prefix=tools:");
    let other = RedisStores::connect(&url, crate::server::keys("secret")).await.expect("the server answers");
    let stores = connect(&server, "secret").await;
    fill(&other).await;
    assert!(server.keys().iter().all(|key| key.starts_with("tools:")), "{:?}", server.keys());
    fill(&stores).await;
    assert_eq!(server.keys().len(), 16);
}

/// A value is bound to its key, and the prefix is a part of it.
#[tokio::test]
async fn values_that_were_moved_to_another_prefix_are_not_opened() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    fill(&stores).await;
    for key in server.keys() {
        let moved = key.replacen("pmcp:", "tools:", 1);
        assert_eq!(server.ask::<i64>(&["COPY", &key, &moved]), 1);
    }
    let url = server.url_with("prefix=tools:");
    let other = RedisStores::connect(&url, crate::server::keys("secret")).await.expect("the server answers");
    let (name, key) = (lease("other-node"), EventKey { session: SESSION, stream: 1, number: 0 });
    for (stores, is_moved) in [(&other, true), (&stores, false)] {
        let (leases, events) = (stores.leases(), stores.events());
        assert_eq!(leases.register(&name, LONG).await, Ok(true));
        let replayed = events.replay(key, u64::MAX).await.expect("the store answers");
        assert_eq!(replayed == Replayed::Missing, is_moved, "{replayed:?}");
        let log = events.log(SESSION, FencingToken::FIRST).await.expect("the store answers");
        assert_eq!(log.iter().all(|stream| stream.requests.is_empty()), is_moved, "{log:?}");
        leases.release(SESSION, FencingToken::FIRST).await.expect("the store answers");
        let claimed = leases.claim(SESSION, &name).await.expect("the store answers");
        assert_eq!(claimed == Claim::Unknown, is_moved, "{claimed:?}");
    }
}
