//! Requests that are many, large, or malformed.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Client, FILLER, FRONTS, Front, Neighbours, Setup, User};
use protomcp_conformance::tier;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::{INBOUND, MIB, SLACK, call, call_with_progress, goes_on, open, pour};

/// The limit for log output during an attack.
const LOG: usize = 1 << 20;

/// Meaningless notifications, as fast as they are accepted.
pub(crate) async fn notify(mallory: User) {
    for front in [Front::Session, Front::Sse] {
        let Ok(client) = open(&mallory, front).await else { continue };
        let Ok(mut pipe) = client.pipe().await else { continue };
        let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
        let many = client.message(&notice.to_string()).repeat(50);
        let start = Instant::now();
        while goes_on(start) && pipe.write(&many).await.is_ok() {}
    }
}

/// One batch of very many requests that are answered immediately.
pub(crate) async fn batch_pings(mallory: User) {
    let Ok(client) = Client::open_batching(&mallory).await else { return };
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let batch = Value::Array((0..tier(20_000, 200_000)).map(ping).collect()).to_string();
    let batch = client.message(&batch);
    let kept = pour(&client, &batch).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(kept);
}

/// Arguments of very many small values.
pub(crate) async fn nest_values(mallory: User) {
    let values = "0,".repeat(tier(400_000, 4_000_000)) + "0";
    let (arguments, mut kept) = (json!({"text": [FILLER]}), Vec::new());
    for front in FRONTS {
        let Ok(client) = open(&mallory, front).await else { continue };
        let request = client.large_request(1000, "tools/call", call("sum", &arguments), &format!("\",{values},\""));
        kept.push((pour(&client, &request).await, client));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Trees of 300 bytes and more, whose innermost node fits no branch of a union that contains itself, and lists whose elements
/// have a long place or many options.
pub(crate) async fn nest_unions(mallory: User) {
    let tree = |depth: usize| (0..depth).fold(json!({"op": 7}), |inner, _| json!({"op": "and", "kids": [inner]}));
    for front in FRONTS {
        let Ok(mut client) = open(&mallory, front).await else { continue };
        let long = json!({"k".repeat(40_000): vec!["x"; 5_000]});
        for arguments in [
            json!({"one": tree(12), "other": tree(12)}),
            json!({"one": tree(60), "other": tree(60)}),
            json!({"lists": long}),
            json!({"areas": vec!["Area/Citty1"; 4_000]}),
        ] {
            // The bridge refuses the call, or passes it on.
            let _ = client.ask("tools/call", call("tree", &arguments)).await;
        }
    }
}

/// Sessions whose clients have names of 4 MiB.
pub(crate) async fn begin_with_bytes(mallory: User) {
    let mut sessions = Vec::new();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": FILLER, "version": "1"}
    }});
    let request = mallory.request("POST", "/mcp", &[], &hello.to_string().replace(FILLER, &"x".repeat(4 << 20)));
    for _ in 0..200 {
        let Ok(mut connection) = mallory.connect().await else { continue };
        if connection.write(&request).await.is_ok() {
            // The session may be rejected.
            let _ = connection.response().await;
            sessions.push(connection);
        }
    }
}

/// Calls with a large progress token, which each report repeats.
pub(crate) async fn name_progress_at_length(mallory: User) {
    let mut kept = Vec::new();
    for front in FRONTS {
        let Ok(client) = open(&mallory, front).await else { continue };
        let params = json!({
            "name": "progress", "arguments": {"count": 400}, "_meta": {"progressToken": FILLER},
        });
        let request = client.large_request(1000, "tools/call", params, &"p".repeat(4 << 20));
        let Ok(mut stream) = mallory.narrow_socket().await else { continue };
        let _ = stream.write_all(&request).await;
        kept.push((client, stream));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Subscribes to resources of long names.
pub(crate) async fn subscribe(mallory: User) {
    let Ok(mut client) = open(&mallory, Front::Session).await else { return };
    let (start, mut number) = (Instant::now(), 0);
    while goes_on(start) {
        number += 1;
        let uri = format!("parts://{number}/{}", "x".repeat(1 << 20));
        let _ = client.ask("resources/subscribe", json!({"uri": uri})).await;
        let _ = client.ask("resources/read", json!({"uri": uri})).await;
    }
}

/// Large requests, one after the other.
pub(crate) async fn send_large(mallory: User) {
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let mallory = mallory.clone();
        tasks.spawn(async move {
            let start = Instant::now();
            let text = "x".repeat(30_000_000);
            while goes_on(start) {
                let Ok(client) = open(&mallory, Front::Session).await else { continue };
                let request = client.large_request(1000, "tools/call", call("sleep", &json!({"text": FILLER})), &text);
                let Ok(mut connection) = mallory.connect().await else { continue };
                if connection.write(&request).await.is_ok() {
                    let _ = connection.response().await;
                }
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

/// Requests of a page of another origin, and requests with made-up tokens.
pub(crate) async fn come_as_a_stranger(mallory: User) {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let forged = mallory.clone().with_token("eyJhbGciOiJFUzI1NiIsImtpZCI6InAyNTYifQ.e30.AAAA");
    let requests = [
        mallory.request("POST", "/mcp", &[("origin", "http://evil.example.com")], &ping),
        String::from_utf8(mallory.request("POST", "/mcp", &[], &ping))
            .expect("it is text")
            .replace("host: localhost", "host: evil.example.com")
            .into_bytes(),
        forged.request("POST", "/mcp", &[], &ping),
        mallory.request("POST", "/mcp", &[("mcp-session-id", "made-up")], &ping),
        mallory.request("POST", "/mcp", &[], "{\"jsonrpc\":"),
    ];
    let all = requests.concat().repeat(10);
    let start = Instant::now();
    while goes_on(start) {
        let Ok(connection) = mallory.connect().await else { continue };
        let mut write = connection.drain();
        while goes_on(start) && write.write_all(&all).await.is_ok() {}
    }
}

/// Calls with wrong arguments of unknown tools.
pub(crate) async fn ask_wrongly(mallory: User) {
    let Ok(mut client) = open(&mallory, Front::Session).await else { return };
    let start = Instant::now();
    while goes_on(start) {
        for (name, arguments) in [("nothing", json!({})), ("echo", json!([])), (&"x".repeat(10_000), json!({}))] {
            let _ = client.ask("tools/call", call_with_progress(name, &arguments)).await;
        }
    }
}

#[test]
fn notices_without_meaning_stop_no_other() {
    Neighbours::start(&Setup::default()).suffer(notify).serves().grows_at_most(SLACK);
}

#[test]
fn a_large_batch_stops_no_other() {
    Neighbours::start(&Setup::default()).suffer(batch_pings).serves().grows_at_most(2 * SLACK);
}

#[test]
fn arguments_of_many_values_stop_no_other() {
    Neighbours::start(&Setup::default()).suffer(nest_values).serves().grows_at_most(INBOUND);
}

#[test]
fn mismatched_trees_are_explained_in_little_memory() {
    for policy in ["warn", "reject"] {
        let flags = &["--validate-args", policy];
        let neighbours = Neighbours::start(&Setup { flags, ..Setup::DEFAULT });
        neighbours.suffer_whole(nest_unions).serves().grows_at_most(SLACK);
    }
}

#[test]
fn clients_with_long_names_stay_within_their_bytes() {
    Neighbours::start(&Setup::default()).suffer(begin_with_bytes).serves().grows_at_most(INBOUND + SLACK);
}

#[test]
fn long_tokens_for_progress_stay_within_their_bytes() {
    Neighbours::start(&Setup::default()).suffer(name_progress_at_length).serves().grows_at_most(4 * SLACK);
}

#[test]
fn subscriptions_stay_within_their_bytes() {
    Neighbours::start(&Setup::default()).suffer(subscribe).serves().grows_at_most(SLACK);
}

#[test]
fn large_requests_stop_no_other() {
    Neighbours::start(&Setup { turn: Duration::from_secs(1), ..Setup::DEFAULT })
        .suffer(send_large)
        .serves()
        .grows_at_most(INBOUND + SLACK);
}

#[test]
fn strangers_neither_stop_others_nor_fill_the_log() {
    for attack in [0, 1] {
        let neighbours = Neighbours::start(&Setup::default());
        let report = match attack {
            0 => neighbours.suffer(come_as_a_stranger),
            _ => neighbours.suffer(ask_wrongly),
        };
        report.serves().grows_at_most(SLACK);
        let log = neighbours.web.process().stderr();
        let end: String = log.lines().rev().take(5).collect::<Vec<_>>().join("\n");
        assert!(log.len() < LOG, "{} MiB of log, which ends in {end}", log.len() as u64 / MIB);
    }
}
