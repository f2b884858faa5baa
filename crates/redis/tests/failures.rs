//! Servers that stop, end, forget or are full.

use std::time::Duration;

use bytes::Bytes;
use protomcp_http::{Entry, EventKey, EventStore, Replayed, StreamLog, Write};
use protomcp_redis::{ConnectError, RedisStores};
use protomcp_server::{Claim, FencingToken, LeaseKeeper, LeaseStore, LeaseTerms, NodeId, Owner, StoreError};
use protomcp_testing::{Log, in_time, until};
use rustix::process::Signal;

use crate::server::{LONG, RedisServer, connect, connect_within, lease};

/// Enough for a store that answers, on a busy machine.
const LIMIT: Duration = Duration::from_secs(2);

/// The refusals of a peer. There is a line a second for them, so that a busy machine has few lines.
const MANY: usize = 1_000;

/// The lines of a log with this text.
fn lines(log: &Log, text: &str) -> usize {
    log.text().lines().filter(|line| line.contains(text)).count()
}

/// Waits until the store answers.
async fn answers(stores: &RedisStores) {
    let healthy = async {
        while stores.health().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    in_time(healthy).await.expect("the store answers again");
}

fn enter(stores: &RedisStores, stream: u64, entry: Entry<'_>) -> Write {
    let number = if matches!(entry, Entry::Event { .. }) { 1 } else { 0 };
    enter_as(stores, FencingToken::FIRST, EventKey { session: "s", stream, number }, entry)
}

fn enter_as(stores: &RedisStores, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
    stores.events().append(&Owner::Principal("ann".into()), token, key, entry)
}

async fn written(write: Write) -> Result<(), StoreError> {
    match write {
        Write::Done(written) => written,
        Write::Pending(write) => in_time(write).await.expect("a write has a time"),
    }
}

#[tokio::test]
async fn a_server_that_stops_costs_each_request_its_time() {
    let server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LIMIT).await;
    let (leases, name, event) = (stores.leases(), lease("a"), vec![Bytes::from_static(b"a")]);
    assert_eq!(leases.register(&name, LONG).await, Ok(true));
    server.signal(Signal::STOP);
    // The second one finds the connection that the first has given up.
    for _ in 0..2 {
        let entry = Entry::Event { event: &event, answers: None };
        let events = stores.events();
        let requests = async {
            tokio::join!(
                leases.live(),
                leases.renew(&name, LONG),
                leases.open("s", &name),
                written(enter(&stores, 1, entry)),
                events.replay(EventKey { session: "s", stream: 1, number: 0 }, u64::MAX),
            )
        };
        let (live, renewed, opened, event, replayed) = in_time(requests).await.expect("each request has its time");
        assert_eq!(live, Err(StoreError::Unavailable));
        assert_eq!((renewed, opened), (Err(StoreError::Unavailable), Err(StoreError::Unavailable)));
        assert_eq!((event, replayed), (Err(StoreError::Unavailable), Err(StoreError::Unavailable)));
    }
    assert!(matches!(stores.health().await, Err(ConnectError::Silent { .. })));
    server.signal(Signal::CONT);
    answers(&stores).await;
    assert_eq!(leases.live().await, Ok(vec![name]));
}

#[tokio::test]
async fn a_server_that_is_started_again_is_used_again() {
    let mut server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LIMIT).await;
    let leases = stores.leases();
    assert_eq!(leases.register(&lease("a"), LONG).await, Ok(true));
    for _ in 0..2 {
        server.kill();
        assert_eq!(leases.live().await, Err(StoreError::Unavailable));
        assert!(matches!(stores.health().await, Err(ConnectError::Unreachable { .. })));
        server.restart();
        answers(&stores).await;
        assert_eq!(leases.live().await, Ok(Vec::new()), "it has no data");
        assert_eq!(leases.register(&lease("a"), LONG).await, Ok(true));
        assert_eq!(leases.claim("s", &lease("a")).await, Ok(Claim::Unknown));
    }
}

/// A request on a connection that has ended is sent again.
#[tokio::test]
async fn a_restart_within_the_time_of_a_request_is_not_seen() {
    let mut server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LONG).await;
    server.kill();
    server.restart();
    let live = in_time(stores.leases().live()).await.expect("the server is there again");
    assert_eq!(live, Ok(Vec::new()));
}

/// A keeper waits for an answer no longer than a twentieth of its lease, which is less than the time of a request.
#[tokio::test]
async fn a_silent_connection_is_replaced_for_callers_in_haste() {
    let mut server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LIMIT).await;
    let terms = LeaseTerms::new(Duration::from_secs(4));
    let keeper = LeaseKeeper::start(stores.leases(), NodeId::new("a"), terms);
    let first = in_time(keeper.held()).await.expect("the server answers");
    server.replace();
    until("the other server grants a lease", || keeper.holder().is_some_and(|name| name != first)).await;
}

/// One principal has many events that wait. Another one has room, also for an event above all limits.
#[tokio::test]
async fn waiting_events_of_one_owner_leave_room_for_others() {
    let server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LONG).await;
    let enter = |owner: &str, session: &str, number: u64, event: &Vec<Bytes>| {
        let entry = Entry::Event { event, answers: None };
        let (owner, key) = (Owner::Principal(owner.into()), EventKey { session, stream: 1, number });
        stores.events().append(&owner, FencingToken::FIRST, key, entry)
    };
    let (large, huge) = (vec![Bytes::from(vec![b'x'; 1 << 20])], vec![Bytes::from(vec![b'x'; 65 << 20])]);
    // Nothing is sent before the test waits.
    let mut writes = Vec::new();
    let refused = loop {
        match enter("ann", "a", writes.len() as u64 + 1, &large) {
            Write::Pending(write) => writes.push(write),
            Write::Done(written) => break written,
        }
    };
    assert_eq!(refused, Err(StoreError::Unavailable));
    let log = Log::capture();
    for _ in 0..MANY {
        assert!(matches!(enter("ann", "a", 1_000, &large), Write::Done(Err(StoreError::Unavailable))));
    }
    assert!(lines(&log, "the store is too slow") < MANY / 2, "{}", log.text());
    assert!((32..64).contains(&writes.len()), "{} MiB wait", writes.len());
    let others = [enter("bob", "b", 1, &huge), enter("bob", "b", 2, &vec![Bytes::from_static(b"b")])];
    for write in writes.into_iter().map(Write::Pending).chain(others) {
        assert_eq!(written(write).await, Ok(()));
    }
    let replayed = async |number: u64| {
        stores.events().replay(EventKey { session: "b", stream: 1, number }, u64::MAX).await.expect("the store answers")
    };
    assert_eq!(replayed(0).await, Replayed::Missing, "the first one was too large");
    assert_eq!(replayed(1).await, Replayed::Events(vec![vec![Bytes::from_static(b"b")]]));
    assert!(matches!(enter("ann", "a", 100, &large), Write::Pending(_)), "there is room again");
}

#[tokio::test]
async fn no_event_is_stored_without_its_opening() {
    let mut server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LIMIT).await;
    let event = vec![Bytes::from_static(b"a")];
    let entry = Entry::Event { event: &event, answers: None };
    server.kill();
    let entered = [enter(&stores, 1, Entry::Opened { requests: &[] }), enter(&stores, 1, entry)];
    for write in entered {
        assert_eq!(written(write).await, Err(StoreError::Unavailable));
    }
    server.restart();
    answers(&stores).await;
    assert_eq!(written(enter(&stores, 1, entry)).await, Err(StoreError::Unavailable), "its stream is not open");
    assert_eq!(written(enter(&stores, 2, Entry::Opened { requests: &[] })).await, Ok(()));
    assert_eq!(written(enter(&stores, 2, entry)).await, Ok(()), "another stream is");
    assert_eq!(written(enter(&stores, 1, Entry::Ended)).await, Err(StoreError::Unavailable));
    let events = stores.events();
    for (stream, expected) in [(1, Replayed::Unknown), (2, Replayed::Events(vec![event.clone()]))] {
        let replayed = events.replay(EventKey { session: "s", stream, number: 0 }, u64::MAX).await;
        assert_eq!(replayed, Ok(expected), "stream {stream}");
    }
}

/// The stream without a request lives as long as its session.
#[tokio::test]
async fn the_standalone_stream_is_opened_again() {
    let mut server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LIMIT).await;
    let event = vec![Bytes::from_static(b"a")];
    let entry = Entry::Event { event: &event, answers: None };
    server.kill();
    for stream in [0, 1] {
        let opened = written(enter(&stores, stream, Entry::Opened { requests: &[] })).await;
        assert_eq!(opened, Err(StoreError::Unavailable));
    }
    assert_eq!(written(enter(&stores, 0, entry)).await, Err(StoreError::Unavailable));
    server.restart();
    answers(&stores).await;
    let second = EventKey { session: "s", stream: 0, number: 2 };
    assert_eq!(written(enter_as(&stores, FencingToken::FIRST, second, entry)).await, Ok(()));
    assert_eq!(written(enter(&stores, 1, Entry::Opened { requests: &[] })).await, Ok(()));
    assert_eq!(written(enter(&stores, 1, entry)).await, Ok(()), "its opening has succeeded");
    let (events, open) = (stores.events(), |stream, last| StreamLog { stream, last, requests: Vec::new() });
    assert_eq!(events.log("s", FencingToken::FIRST).await, Ok(vec![open(0, 2), open(1, 1)]));
    for (number, expected) in [(0, Replayed::Missing), (1, Replayed::Events(vec![event.clone()]))] {
        let replayed = events.replay(EventKey { session: "s", stream: 0, number }, u64::MAX).await;
        assert_eq!(replayed, Ok(expected), "after {number}");
    }
}

#[tokio::test]
async fn a_stream_that_another_process_has_opened_is_written() {
    let mut server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LIMIT).await;
    let event = vec![Bytes::from_static(b"a")];
    let entry = Entry::Event { event: &event, answers: None };
    server.kill();
    let opened = written(enter(&stores, 1, Entry::Opened { requests: &[] })).await;
    assert_eq!(opened, Err(StoreError::Unavailable));
    server.restart();
    let other = connect_within(&server.url(), LIMIT).await;
    let key = |number| EventKey { session: "s", stream: 1, number };
    let second = FencingToken::FIRST.successor();
    for (number, entry) in [(0, Entry::Opened { requests: &[] }), (1, entry)] {
        assert_eq!(written(enter_as(&other, second, key(number), entry)).await, Ok(()));
    }
    answers(&stores).await;
    let third = second.successor();
    let log = stores.events().log("s", third).await;
    assert_eq!(log, Ok(vec![StreamLog { stream: 1, last: 1, requests: Vec::new() }]));
    assert_eq!(written(enter_as(&stores, third, key(2), entry)).await, Ok(()), "the session is back");
}

#[tokio::test]
async fn scripts_that_the_server_has_forgotten_are_sent_again() {
    let server = RedisServer::start(&[]);
    let stores = connect(&server, "secret").await;
    let event = vec![Bytes::from_static(b"a")];
    for round in 0..3 {
        assert_eq!(stores.leases().register(&lease(&format!("node-{round}")), LONG).await, Ok(true));
        // A pipeline of several.
        let opened = enter(&stores, round, Entry::Opened { requests: &[] });
        let sent = enter(&stores, round, Entry::Event { event: &event, answers: None });
        let ended = enter(&stores, round, Entry::Ended);
        for write in [opened, sent, ended] {
            assert_eq!(written(write).await, Ok(()));
        }
        server.ask::<()>(&["SCRIPT", "FLUSH", "SYNC"]);
    }
}

#[tokio::test]
async fn a_server_without_memory_takes_no_session() {
    let server = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let stores = connect(&server, "secret").await;
    let (leases, name) = (stores.leases(), lease("a"));
    assert_eq!(leases.register(&name, LONG).await, Ok(true));
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(leases.open("s", &name).await, Ok(Claim::Full));
    let log = Log::capture();
    for _ in 0..MANY {
        let opened = written(enter(&stores, 1, Entry::Opened { requests: &[] })).await;
        assert_eq!(opened, Err(StoreError::Unavailable));
    }
    assert!((1..MANY / 2).contains(&lines(&log, "a request to the store has failed")), "{}", log.text());
    server.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(leases.open("s", &name).await, Ok(Claim::Granted(FencingToken::FIRST, None)));
}

/// Each of many concurrent requests has an answer, although few are under way at the same time.
#[tokio::test]
async fn many_requests_are_answered() {
    let server = RedisServer::start(&[]);
    let stores = connect_within(&server.url(), LONG).await;
    let (leases, event) = (stores.leases(), vec![Bytes::from_static(b"a")]);
    let live = futures_util::future::join_all((0..3_000).map(|_| leases.live()));
    assert!(in_time(live).await.expect("they end").iter().all(Result::is_ok));
    let writes: Vec<_> =
        (0..3_000).map(|stream| enter(&stores, stream, Entry::Event { event: &event, answers: None })).collect();
    for write in writes {
        assert_eq!(written(write).await, Ok(()));
    }
}
