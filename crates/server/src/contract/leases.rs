//! The contract of [`LeaseStore`].

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use protomcp_types::{ClientCapabilities, Implementation, Level, ProtocolVersion, RawJson};
use tokio::time::{sleep, timeout};

use crate::records::claim::{Claim, FencingToken};
use crate::records::lease_name::LeaseName;
use crate::records::lease_store::{LeaseStore, StoreAnswer};
use crate::records::node::NodeId;
use crate::records::session_snapshot::SessionSnapshot;
use protomcp_session::{ClientInfo, SessionState};

/// A lease that outlives the test.
const LONG: Duration = Duration::from_secs(600);

/// A lease that runs out in the test.
const SHORT: Duration = Duration::from_millis(500);

/// Processes that want one session at the same time.
const MANY: usize = 20;

/// Checks that a session has one holder at a time, that its tokens grow, and that a lease ends when it is not renewed:
/// its process holds nothing then, and gets no session until it has registered again. The state that a holder has saved
/// is there for the next one. The address of a process is known while its lease runs.
/// The store must have room for 64 leases and four sessions, and keep a session without a holder for a minute.
///
/// It waits for the end of a lease of half a second.
///
/// # Panics
/// When the store does not answer, or not as it should.
pub async fn lease_store(store: &dyn LeaseStore) {
    names(store).await;
    addresses(store).await;
    holders(store).await;
    resigned(store).await;
    run_out(store).await;
    one_winner(store).await;
    snapshots(store).await;
}

async fn names(store: &dyn LeaseStore) {
    let name = first("names");
    let next = name.successor();
    assert!(!get(store.renew(&name, LONG)).await, "it has not registered");
    assert!(get(store.register(&name, LONG)).await);
    assert!(!get(store.register(&name, LONG)).await, "the name is in use");
    assert!(get(store.renew(&name, LONG)).await && get(store.renew(&name, LONG)).await);
    assert!(get(store.live()).await.contains(&name));
    get(store.resign(&name)).await;
    get(store.resign(&name)).await;
    assert!(!get(store.live()).await.contains(&name), "it has given its lease back");
    assert!(!get(store.renew(&name, LONG)).await, "it has given its lease back");
    assert!(!get(store.register(&name, LONG)).await, "the name has been used");
    assert!(get(store.register(&next, LONG)).await, "its process has another name");
    assert!(!get(store.renew(&name, LONG)).await && get(store.renew(&next, LONG)).await, "it is another lease");
    get(store.resign(&next)).await;
}

async fn addresses(store: &dyn LeaseStore) {
    let (name, silent) = (first("addresses-a"), live(store, "addresses-b").await);
    assert!(!get(store.announce(&name, "http://a.example/")).await, "it has not registered");
    assert!(get(store.register(&name, LONG)).await);
    assert_eq!(get(store.address(&name)).await, None, "it has announced none");
    for address in ["http://a.example/", "https://192.0.2.1:8443/mcp"] {
        assert!(get(store.announce(&name, address)).await && get(store.renew(&name, LONG)).await);
        assert_eq!(get(store.address(&name)).await.as_deref(), Some(address));
    }
    assert_eq!(get(store.address(&silent)).await, None, "it is another process");
    assert_eq!(get(store.address(&name.successor())).await, None, "it is another lease");
    get(store.resign(&name)).await;
    assert_eq!(get(store.address(&name)).await, None, "it has given its lease back");
    assert!(!get(store.announce(&name, "http://a.example/")).await, "it has given its lease back");
    get(store.resign(&silent)).await;
}

async fn holders(store: &dyn LeaseStore) {
    let (a, b) = (live(store, "holders-a").await, live(store, "holders-b").await);
    let session = "0123456789-abcdef_XYZ";
    assert_eq!(get(store.claim(session, &a)).await, Claim::Unknown);
    let first = granted(get(store.open(session, &a)).await);
    for _ in 0..2 {
        assert_eq!(get(store.claim(session, &b)).await, Claim::Held(a.clone()));
    }
    assert_eq!(get(store.open(session, &b)).await, Claim::Held(a.clone()), "it is open");
    assert_eq!(get(store.claim("another", &b)).await, Claim::Unknown);

    let second = granted(get(store.claim(session, &a)).await);
    assert!(second > first, "its holder has asked again, and its first token is not the latest");
    assert!(!get(store.release(session, first)).await && !get(store.close(session, first)).await);
    assert_eq!(get(store.claim(session, &b)).await, Claim::Held(a.clone()));

    assert!(get(store.release(session, second)).await);
    let third = granted(get(store.claim(session, &b)).await);
    assert!(third > second);
    assert!(!get(store.release(session, second)).await, "it has another holder");
    assert_eq!(get(store.claim(session, &a)).await, Claim::Held(b));
    assert!(!get(store.close("another", third)).await);
    assert!(get(store.close(session, third)).await && !get(store.close(session, third)).await);
    assert_eq!(get(store.claim(session, &a)).await, Claim::Unknown);
}

async fn resigned(store: &dyn LeaseStore) {
    let (a, b) = (live(store, "resigned-a").await, live(store, "resigned-b").await);
    let (first, other) = (granted(get(store.open("r1", &a)).await), granted(get(store.open("r2", &b)).await));
    get(store.resign(&a)).await;
    assert_eq!(get(store.claim("r1", &a)).await, Claim::LeaseOver, "it has given its lease back");
    assert_eq!(get(store.open("r3", &a)).await, Claim::LeaseOver, "it has given its lease back");
    let second = granted(get(store.claim("r1", &b)).await);
    assert!(second > first);
    assert!(get(store.close("r1", second)).await && get(store.close("r2", other)).await);
}

async fn run_out(store: &dyn LeaseStore) {
    let (dead, b) = (first("run-out-a"), live(store, "run-out-b").await);
    // Before the lease begins, so that a slow test does not miss it.
    let held = live(store, "run-out-c").await;
    let kept = granted(get(store.open("kept", &held)).await);
    assert!(get(store.register(&dead, SHORT)).await);
    let first = granted(get(store.open("lost", &dead)).await);
    let taken_over = async {
        loop {
            match get(store.claim("lost", &b)).await {
                Claim::Granted(token, _) => return token,
                answer => assert_eq!(answer, Claim::Held(dead.clone())),
            }
            sleep(SHORT / 10).await;
        }
    };
    let second = timeout(LONG / 10, taken_over).await.expect("a lease that is not renewed runs out");
    assert!(second > first);
    assert!(!get(store.renew(&dead, LONG)).await, "a lease that has run out is not renewed");
    let live = get(store.live()).await;
    assert!(!live.contains(&dead) && live.contains(&b) && live.contains(&held), "{live:?}");
    assert!(!get(store.register(&dead, LONG)).await, "the name has been used");
    assert_eq!(get(store.claim("lost", &held)).await, Claim::Held(b.clone()));
    assert_eq!(get(store.claim("kept", &b)).await, Claim::Held(held), "other leases run");
    assert!(get(store.close("lost", second)).await && get(store.close("kept", kept)).await);
}

async fn one_winner(store: &dyn LeaseStore) {
    let winner = |number| async move { live(store, &format!("winner-{number}")).await };
    let nodes = join_all((0..MANY).map(winner)).await;
    let first = granted(get(store.open("wanted", &nodes[0])).await);
    assert!(get(store.release("wanted", first)).await);
    let claims = join_all(nodes.iter().map(|node| get(store.claim("wanted", node)))).await;
    let won: Vec<_> = claims.iter().enumerate().filter(|(_, claim)| matches!(claim, Claim::Granted(..))).collect();
    let [(winner, Claim::Granted(token, _))] = won[..] else { panic!("one process holds the session: {claims:?}") };
    let others = claims.iter().filter(|claim| **claim == Claim::Held(nodes[winner].clone()));
    assert_eq!(others.count(), MANY - 1, "the others know the holder: {claims:?}");
    assert!(get(store.close("wanted", *token)).await);
}

async fn snapshots(store: &dyn LeaseStore) {
    let (a, b) = (live(store, "snapshots-a").await, live(store, "snapshots-b").await);
    let (first, none) = granted_with(get(store.open("saved", &a)).await);
    assert_eq!(none, None, "the session is new");
    let (debug, error) = (snapshot(Level::Debug), snapshot(Level::Error));
    assert!(get(store.save("saved", first, &debug)).await && get(store.save("saved", first, &error)).await);
    assert!(!get(store.save("other", first, &debug)).await, "it is not open");
    assert!(get(store.release("saved", first)).await);

    let (second, saved) = granted_with(get(store.claim("saved", &b)).await);
    assert_eq!(saved.as_ref(), Some(&error), "the latest state");
    assert!(!get(store.save("saved", first, &debug)).await, "it has another holder");
    let (third, saved) = granted_with(get(store.claim("saved", &b)).await);
    assert!(third > second && saved.as_ref() == Some(&error), "an earlier holder has not changed it: {saved:?}");
    assert!(get(store.save("saved", third, &debug)).await && get(store.close("saved", third)).await);
    assert!(!get(store.save("saved", third, &debug)).await, "it is closed");
    assert_eq!(get(store.claim("saved", &a)).await, Claim::Unknown);
}

/// The state of a session with this level of log messages.
fn snapshot(level: Level) -> SessionSnapshot {
    let client = ClientInfo {
        version: ProtocolVersion::V2025_11_25,
        implementation: Implementation::new("host", "1"),
        capabilities: ClientCapabilities::default(),
    };
    let subscriptions = vec!["file:///a".to_owned(), "file:///b".to_owned()];
    let selection = Some(RawJson::text("none"));
    let state = SessionState { client: Arc::new(client), level, subscriptions, selection };
    let scopes = vec!["read".to_owned()];
    SessionSnapshot { state, principal: Some("ann".into()), address: Some([127, 0, 0, 1].into()), scopes }
}

/// A process with a long lease.
async fn live(store: &dyn LeaseStore, node: &str) -> LeaseName {
    let name = first(node);
    assert!(get(store.register(&name, LONG)).await, "{name} is new");
    name
}

/// The first lease of a process.
fn first(node: &str) -> LeaseName {
    LeaseName::first(NodeId::new(node))
}

async fn get<T>(answer: StoreAnswer<'_, T>) -> T {
    answer.await.expect("the store answers")
}

#[track_caller]
fn granted(claim: Claim) -> FencingToken {
    granted_with(claim).0
}

#[track_caller]
fn granted_with(claim: Claim) -> (FencingToken, Option<SessionSnapshot>) {
    match claim {
        Claim::Granted(token, snapshot) => (token, snapshot.map(|snapshot| *snapshot)),
        other => panic!("the session is free: {other:?}"),
    }
}
