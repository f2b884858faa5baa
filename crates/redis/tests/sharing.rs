//! Several processes at one store.

use std::time::Duration;

use bytes::Bytes;
use protomcp_http::{Entry, EventKey, EventStore, Replayed, StreamLog};
use protomcp_redis::{RedisStores, StoreOptions};
use protomcp_server::{Claim, FencingToken, LeaseStore, SessionSnapshot, StoreError};
use protomcp_testing::until;
use protomcp_types::RequestId;

use crate::privacy::{append, append_as, snapshot};
use crate::server::{LONG, RedisServer, connect, keys, lease};
use crate::tasks::run;

const FIRST: FencingToken = FencingToken::FIRST;

/// A session that a process has opened and released, with a state and an event.
async fn leave(stores: &RedisStores) {
    let (leases, name) = (stores.leases(), lease("a"));
    assert_eq!(leases.register(&name, LONG).await, Ok(true));
    assert_eq!(leases.open("s", &name).await, Ok(Claim::Granted(FIRST, None)));
    assert_eq!(leases.save("s", FIRST, &snapshot()).await, Ok(true));
    let (request, event) = (RequestId::from(7), vec![Bytes::from_static(b"a")]);
    append(stores, key(1, 0), Entry::Opened { requests: &[&request] }).await;
    append(stores, key(1, 1), Entry::Event { event: &event, answers: None }).await;
    assert_eq!(leases.release("s", FIRST).await, Ok(true));
}

fn key(stream: u64, number: u64) -> EventKey<'static> {
    EventKey { session: "s", stream, number }
}

async fn replayed(stores: &RedisStores) -> Replayed {
    stores.events().replay(key(1, 0), u64::MAX).await.expect("the store answers")
}

#[tokio::test]
async fn a_process_takes_over_what_another_has_left() {
    let server = RedisServer::start(&[]);
    let (first, second) = (connect(&server, "secret").await, connect(&server, "secret").await);
    leave(&first).await;
    let name = lease("b");
    assert_eq!(second.leases().register(&name, LONG).await, Ok(true));
    let token = FIRST.successor();
    let granted = Claim::Granted(token, Some(Box::new(snapshot())));
    assert_eq!(second.leases().claim("s", &name).await, Ok(granted));
    let log = second.events().log("s", token).await;
    assert_eq!(log, Ok(vec![StreamLog { stream: 1, last: 1, requests: vec![RequestId::from(7)] }]));
    assert_eq!(replayed(&second).await, Replayed::Events(vec![vec![Bytes::from_static(b"a")]]));
}

/// A claim fences the earlier holder, before the new one has read the log.
#[tokio::test]
async fn a_claim_refuses_the_events_of_the_holder_before() {
    let server = RedisServer::start(&[]);
    let (first, second) = (connect(&server, "secret").await, connect(&server, "secret").await);
    leave(&first).await;
    let name = lease("b");
    assert_eq!(second.leases().register(&name, LONG).await, Ok(true));
    assert!(matches!(second.leases().claim("s", &name).await, Ok(Claim::Granted(..))));
    assert_eq!(first.events().log("s", FIRST).await, Err(StoreError::Fenced));
}

/// A request to open a session may arrive twice, the second time after its end.
#[tokio::test]
async fn a_session_that_was_closed_is_not_opened_again() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    let (leases, name) = (stores.leases(), lease("a"));
    assert_eq!(leases.register(&name, LONG).await, Ok(true));
    assert_eq!(leases.open("s", &name).await, Ok(Claim::Granted(FIRST, None)));
    assert_eq!(leases.close("s", FIRST).await, Ok(true));
    assert_eq!(leases.open("s", &name).await, Ok(Claim::Unknown));
    assert_eq!(leases.open("t", &name).await, Ok(Claim::Granted(FIRST, None)));
    for key in server.keys() {
        let left: i64 = server.ask(&["PTTL", &key]);
        assert!(left > 0, "{key} lives for {left} ms");
    }
}

#[tokio::test]
async fn a_process_with_other_keys_knows_no_session() {
    let server = RedisServer::start(&[]);
    let (first, other) = (connect(&server, "secret").await, connect(&server, "another").await);
    leave(&first).await;
    let name = lease("b");
    assert_eq!(other.leases().register(&name, LONG).await, Ok(true));
    assert_eq!(other.leases().claim("s", &name).await, Ok(Claim::Unknown));
    assert_eq!(replayed(&other).await, Replayed::Missing);

    let both = keys("another").and(keys("secret"));
    let both = RedisStores::connect(&server.url(), both).await.expect("the server answers");
    assert_eq!(replayed(&both).await, Replayed::Events(vec![vec![Bytes::from_static(b"a")]]));
    let claimed = both.leases().claim("s", &name).await;
    assert!(matches!(claimed, Ok(Claim::Granted(token, Some(_))) if token == FIRST.successor()), "{claimed:?}");

    // It answers a request that was opened with the key before.
    let (request, event, token) = (RequestId::from(7), vec![Bytes::from_static(b"b")], FIRST.successor());
    append_as(&both, token, key(1, 2), Entry::Event { event: &event, answers: Some(&request) }).await;
    let log = both.events().log("s", token).await;
    assert_eq!(log, Ok(vec![StreamLog { stream: 1, last: 2, requests: Vec::new() }]));
}

/// The keys of a session with a holder are made to live longer, until its process has ended.
#[tokio::test]
async fn a_session_lives_for_as_long_as_its_process() {
    let server = RedisServer::start(&[]);
    let options = StoreOptions::default().with_keep(Duration::from_secs(4));
    let stores = RedisStores::connect_with(&server.url(), keys("secret"), options).await.expect("the server answers");
    let (leases, name) = (stores.leases(), lease("a"));
    assert_eq!(leases.register(&name, LONG).await, Ok(true));
    assert_eq!(leases.open("s", &name).await, Ok(Claim::Granted(FIRST, None)));
    append(&stores, key(0, 0), Entry::Opened { requests: &[] }).await;
    let keys = server.keys();
    let mut connection = server.connection();
    let mut left =
        |key: &str| -> i64 { redis::cmd("PTTL").arg(key).query(&mut connection).expect("the server answers") };
    let is_of_session = |key: &str| !key.contains("{leases}");
    for key in keys.iter().filter(|key| is_of_session(key)) {
        let mut last = left(key);
        until("the key lives longer", || {
            let now = left(key);
            assert!(now > 0, "{key} has expired");
            std::mem::replace(&mut last, now) < now
        })
        .await;
    }
    drop((leases, stores));
    until("the keys have expired", || server.keys().iter().all(|key| !is_of_session(key))).await;
}

#[tokio::test]
async fn a_log_has_its_limits() {
    let server = RedisServer::start(&[]);
    let options = StoreOptions::default().with_log(3, 1_000);
    let stores = RedisStores::connect_with(&server.url(), keys("secret"), options).await.expect("the server answers");
    append(&stores, key(1, 0), Entry::Opened { requests: &[] }).await;
    for number in 1..=5 {
        let event = vec![Bytes::from(number.to_string())];
        append(&stores, key(1, number), Entry::Event { event: &event, answers: None }).await;
    }
    let replay = async |number: u64| stores.events().replay(key(1, number), u64::MAX).await.expect("the store answers");
    assert_eq!(replay(1).await, Replayed::Missing);
    let expected = ["3", "4", "5"].map(|number| vec![Bytes::from(number)]);
    assert_eq!(replay(2).await, Replayed::Events(expected.to_vec()));
    let large = vec![Bytes::from(vec![b'x'; 1_000])];
    append(&stores, key(1, 6), Entry::Event { event: &large, answers: None }).await;
    assert_eq!(replay(3).await, Replayed::Missing);
    let before = stores.events().replay(key(1, 3), 6).await.expect("the store answers");
    assert_eq!(before, Replayed::Events(expected[1..].to_vec()), "a large event drops no others");
    assert_eq!(replay(6).await, Replayed::Events(Vec::new()));
}

/// A client resumes one stream of a session that has many others.
#[tokio::test]
async fn a_replay_reads_the_events_of_its_range_alone() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    let text = |number: u64| vec![Bytes::from(number.to_string())];
    for number in 1..=5 {
        for stream in 1..=20 {
            append(&stores, key(stream, number), Entry::Event { event: &text(number), answers: None }).await;
        }
    }
    append(&stores, key(7, 5), Entry::Ended).await;
    server.ask::<()>(&["CONFIG", "RESETSTAT"]);
    let replayed = stores.events().replay(key(7, 3), u64::MAX).await;
    assert_eq!(replayed, Ok(Replayed::Events(vec![text(4), text(5)])));
    let commands: String = server.ask(&["INFO", "commandstats"]);
    // Two for the stream, and one for each event.
    assert!(commands.contains("cmdstat_hget:calls=4,"), "{commands}");
    assert!(["xrange", "hgetall", "hvals", "lrange"].iter().all(|all| !commands.contains(all)), "{commands}");
}

#[tokio::test]
async fn a_state_that_comes_late_does_not_replace_a_later_one() {
    let server = RedisServer::start(&[]);
    let (stores, a, b) = (connect(&server, "secret").await, lease("a"), lease("b"));
    let leases = stores.leases();
    for name in [&a, &b] {
        assert_eq!(leases.register(name, LONG).await, Ok(true));
    }
    assert_eq!(leases.open("s", &a).await, Ok(Claim::Granted(FIRST, None)));
    let key = server.keys().into_iter().find(|key| server.ask::<String>(&["TYPE", key]) == "hash");
    let key = key.expect("the session has a key");
    let first = snapshot();
    assert_eq!(leases.save("s", FIRST, &first).await, Ok(true));
    let late: Vec<u8> = server.ask(&["HGET", &key, "d"]);
    let second = SessionSnapshot { scopes: vec!["later".to_owned()], ..first };
    assert_eq!(leases.save("s", FIRST, &second).await, Ok(true));
    let save = |token: &str, number: &str| {
        run(
            &server,
            include_str!("../src/scripts/save.lua"),
            &key,
            &[token.as_bytes(), number.as_bytes(), &late, b"60000"],
        )
    };
    assert_eq!(save("1", "0"), 1, "no client waits for its answer");
    assert_eq!(save("2", "0"), 0);
    assert_eq!(leases.release("s", FIRST).await, Ok(true));
    let Ok(Claim::Granted(token, state)) = leases.claim("s", &b).await else { panic!("it is free") };
    assert_eq!(state.map(|state| state.scopes), Some(second.scopes.clone()));
    // The numbers of the next holder are its own.
    assert_eq!(save(&token.get().to_string(), "0"), 1);
    assert_eq!(server.ask::<Vec<u8>>(&["HGET", &key, "d"]), late);
}
