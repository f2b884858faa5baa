//! Calls that wait, calls that ask, and cancelled calls.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{
    Client, FILLER, FRONTS, Front, Heard, Http2, Identity, Neighbours, Op, Setup, Tool, User,
};
use protomcp_conformance::tier;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{INBOUND, MIB, SLACK, call, call_with_progress, goes_on, identities, open, pour};

/// The duration of one handler of mallory.
const TURN: Duration = Duration::from_millis(100);

/// The time that a call with an open request may keep a slot that others wait for.
const ASKING: Duration = Duration::from_secs(5);

/// Four calls at a time, so that there is a queue. Alice has three concurrent calls, which take turns with mallory's.
const FEW: Setup<'_> = Setup { tool: Tool::Hostile(4), turn: TURN.saturating_mul(3), ..Setup::DEFAULT };

fn sleep() -> Value {
    json!({"ms": 100})
}

/// Five sessions, each with the maximum number of calls.
pub(crate) async fn fill_with_posts(mallory: User) {
    let mut clients = Vec::new();
    for _ in 0..5 {
        let Ok(client) = open(&mallory, Front::Sse).await else { continue };
        let requests = (1000..2000).map(|id| client.request_with_id(id, "tools/call", call("sleep", &sleep())));
        let pipe = pour(&client, &requests.collect::<Vec<_>>().concat()).await;
        clients.push((client, pipe));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// The same with batches of MCP 2025-03-26.
pub(crate) async fn fill_with_batches(mallory: User) {
    let mut clients = Vec::new();
    for _ in 0..5 {
        let Ok(client) = Client::open_batching(&mallory).await else { continue };
        let request =
            |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call("sleep", &sleep())});
        let batch = Value::Array((1000..2000).map(request).collect()).to_string();
        let batch = client.message(&batch);
        let pipe = pour(&client, &batch).await;
        clients.push((client, pipe));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// The same without sessions, in streams of a few connections.
pub(crate) async fn fill_with_streams(mallory: User) {
    let mut calls = JoinSet::new();
    for _ in 0..22 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let Ok(connection) = Http2::open(&mallory).await else { continue };
        for _ in 0..200 {
            let (mut connection, body) = (connection.clone(), Client::stateless("tools/call", call("sleep", &sleep())));
            let headers = Client::stateless_headers("tools/call", "sleep");
            calls.spawn(async move { drop(connection.send("POST", "/mcp", &headers, body).await) });
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Calls with large arguments wait in the queue.
pub(crate) async fn fill_with_bytes(mallory: User) {
    let (mut clients, text) = (Vec::new(), "x".repeat(8 << 20));
    for _ in 0..100 {
        let Ok(client) = open(&mallory, Front::Sse).await else { continue };
        let arguments = json!({"ms": 100, "text": FILLER});
        let request = client.large_request(1000, "tools/call", call("sleep", &arguments), &text);
        let pipe = pour(&client, &request).await;
        clients.push((client, pipe));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
}

/// Calls that send a request, and get no answer.
pub(crate) async fn park(mallory: User) {
    let mut calls = JoinSet::new();
    for _ in 0..80 {
        let mallory = mallory.clone();
        calls.spawn(async move {
            let Ok(mut client) = open(&mallory, Front::Stateless).await else { return };
            drop(client.ask("tools/call", call("ask", &json!({"text": "?"}))).await);
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// The same in sessions, with the requests on an open stream.
pub(crate) async fn ask_and_be_silent(mallory: User) {
    let able = json!({"elicitation": {}, "roots": {}});
    let mut clients = Vec::new();
    for _ in 0..5 {
        let Ok(client) = Client::open_with(&mallory, Front::Sse, &Heard::default(), &able).await else { continue };
        let ask = || call("ask", &json!({"text": "?", "count": 4}));
        let requests = (1000..1020).map(|id| client.request_with_id(id, "tools/call", ask()));
        let pipe = pour(&client, &requests.collect::<Vec<_>>().concat()).await;
        clients.push((client, pipe));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Calls that are cancelled as soon as they run, which keeps their handlers busy.
pub(crate) async fn cancel(mallory: User) {
    let Ok(client) = open(&mallory, Front::Sse).await else { return };
    let Ok(mut pipe) = client.pipe().await else { return };
    let (start, mut id) = (Instant::now(), 1000);
    while goes_on(start) {
        id += 1;
        let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let pair =
            [client.request_with_id(id, "tools/call", call("sleep", &sleep())), client.message(&notice.to_string())];
        if pipe.write(&pair.concat()).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The same without a session: connections break.
pub(crate) async fn break_off(mallory: User) {
    let start = Instant::now();
    while goes_on(start) {
        let mut clients = Vec::new();
        for _ in 0..20 {
            let Ok(mut client) = open(&mallory, Front::Stateless).await else { continue };
            // The connection closes before the answer.
            let _ = client.send("tools/call", call("sleep", &sleep())).await;
            clients.push(client);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_full_queue_refuses_the_caller_who_fills_it() {
    for identity in identities(Identity::Tokens) {
        let neighbours = Neighbours::start(&Setup { identity, ..FEW });
        neighbours.suffer(fill_with_posts).serves();
    }
}

#[test]
fn a_full_queue_refuses_the_caller_who_fills_it_with_batches() {
    Neighbours::start(&FEW).suffer(fill_with_batches).serves();
}

#[test]
fn a_full_queue_rejects_the_caller_who_fills_it_statelessly() {
    for identity in identities(Identity::Addresses) {
        let neighbours = Neighbours::start(&Setup { identity, ..FEW });
        neighbours.suffer(fill_with_streams).serves();
    }
}

#[test]
fn calls_that_wait_stay_within_their_bytes() {
    let neighbours = Neighbours::start(&Setup {
        tool: Tool::Hostile(1),
        turn: tier(Duration::from_secs(4), Duration::from_secs(1)),
        ..Setup::DEFAULT
    });
    neighbours.suffer(fill_with_bytes).serves_except(|_, _| true).grows_at_most(INBOUND + SLACK);
}

#[test]
fn calls_that_ask_keep_no_place_from_others() {
    for identity in [Identity::Tokens, Identity::Addresses] {
        let neighbours = Neighbours::start(&Setup { identity, turn: ASKING, ..Setup::DEFAULT });
        neighbours.suffer(park).serves();
    }
}

#[test]
fn one_call_that_asks_stops_no_other_call_of_the_published_sdk() {
    let setup = Setup {
        tool: Tool::Published("py/neighbours.py"),
        skipped: &[Op::Replay, Op::Notice],
        turn: ASKING,
        ..Setup::DEFAULT
    };
    Neighbours::start(&setup)
        .suffer_whole(async |mallory| {
            let mut client = open(&mallory, Front::Stateless).await.expect("it is served");
            let asked = client.ask("tools/call", call("ask", &json!({"text": "?"}))).await.expect("a question");
            assert_eq!(asked["resultType"], "input_required", "{asked}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        })
        .ends()
        .serves();
}

#[test]
fn unanswered_requests_leave_capacity_for_others() {
    let neighbours = Neighbours::start(&Setup { turn: ASKING, ..Setup::DEFAULT });
    let able = json!({"elicitation": {}, "roots": {}});
    neighbours
        .suffer_whole(async |mallory| {
            let attack = tokio::spawn(ask_and_be_silent(mallory));
            tokio::time::sleep(Duration::from_secs(1)).await;
            let heard = Heard::default();
            let mut alice =
                Client::open_with(&neighbours.alice, Front::Sse, &heard, &able).await.expect("alice has a session");
            alice.send("tools/call", call("ask", &json!({"text": "alice is asked"}))).await.expect("it is sent");
            alice.asked("elicitation/create").await.expect("alice is asked");
            attack.await.expect("the attack ends");
        })
        .ends()
        .serves();
}

#[test]
fn cancelled_calls_keep_a_place_only_while_their_handler_runs() {
    Neighbours::start(&FEW).suffer(cancel).serves();
    Neighbours::start(&FEW).suffer(break_off).serves();
}

#[test]
fn progress_makes_no_other_call_of_the_session_fail() {
    let neighbours = Neighbours::start(&Setup { flags: &["--max-pending", "64"], ..Setup::DEFAULT });
    neighbours
        .suffer_whole(async |mallory| {
            for front in FRONTS {
                let mut client = open(&mallory, front).await.expect("it is served");
                let mut pipe = client.pipe().await.expect("one more connection");
                let progress = call_with_progress("progress", &json!({"count": 5000}));
                pipe.write(&client.request_with_id(1000, "tools/call", progress)).await.expect("it is sent");
                for _ in 0..100 {
                    client.call("echo", json!({"text": "x"})).await.unwrap_or_else(|why| panic!("{front:?}: {why}"));
                }
            }
        })
        .ends()
        .serves()
        .grows_at_most(64 * MIB);
}
