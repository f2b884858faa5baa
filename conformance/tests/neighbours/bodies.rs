//! Bytes: requests that never end, and answers that are not read.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Client, FILLER, FRONTS, Front, Http2, Identity, Neighbours, Op, Setup, User};
use protomcp_conformance::tier;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::{INBOUND, OUTBOUND, SLACK, UNHANDLED, call_with_progress, goes_on, identities, open};

/// All calls share the socket of the tool process, where a small answer waits for earlier large ones. So calls are left
/// out, and everything else is served as usual.
const LARGE: Setup<'_> = Setup { skipped: &[Op::Call, Op::Notice, Op::Replay], ..Setup::DEFAULT };

/// Bodies that are announced as 60 MB and stop a little earlier.
pub(crate) async fn leave_bodies_open(mallory: User) {
    let mut connections = JoinSet::new();
    for _ in 0..40 {
        let mallory = mallory.clone();
        connections.spawn(async move {
            let Ok(mut stream) = mallory.socket().await else { return };
            let head = mallory.head("POST", "/mcp", &[], 60_000_000);
            let piece = vec![b' '; 1_000_000];
            let mut sent = stream.write_all(head.as_bytes()).await;
            for _ in 0..59 {
                sent = sent.and(stream.write_all(&piece).await);
            }
            if sent.is_ok() {
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
        });
    }
    let wait = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(4), wait).await);
}

/// The same in chunks, which do not announce the total size.
pub(crate) async fn leave_chunks_open(mallory: User) {
    let mut connections = JoinSet::new();
    for _ in 0..40 {
        let mallory = mallory.clone();
        connections.spawn(async move {
            let Ok(mut stream) = mallory.socket().await else { return };
            let head = mallory.head("POST", "/mcp", &[], 0).replace("content-length: 0", "transfer-encoding: chunked");
            let piece = [&b"f4240\r\n"[..], &vec![b' '; 1_000_000], b"\r\n"].concat();
            let mut sent = stream.write_all(head.as_bytes()).await;
            for _ in 0..59 {
                sent = sent.and(stream.write_all(&piece).await);
            }
            if sent.is_ok() {
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
        });
    }
    let wait = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(4), wait).await);
}

/// Many small ones: each connection keeps a body of 64 KiB.
pub(crate) async fn leave_small_bodies_open(mallory: User) {
    let mut streams = Vec::new();
    for _ in 0..1500 {
        let Ok(mut stream) = mallory.socket().await else { continue };
        let mut bytes = mallory.head("POST", "/mcp", &[], 65_536).into_bytes();
        bytes.resize(bytes.len() + 65_000, b' ');
        if stream.write_all(&bytes).await.is_ok() {
            streams.push(stream);
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Answers of 10 MiB wait for clients that have disconnected.
pub(crate) async fn leave_answers(mallory: User) {
    let mut clients = Vec::new();
    for _ in 0..2 {
        let Ok(mut client) = open(&mallory, Front::Session).await else { continue };
        let large = json!({"bytes": 10 << 20});
        for _ in 0..32 {
            // Cut as soon as it is a stream.
            let _ = client.cut_call_of("large", large.clone()).await;
        }
        clients.push(client);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Large answers are not read, on every front. They are smaller in the short tier, whose unoptimized program takes half a second
/// to read one of 16 MiB, and as many bytes together.
pub(crate) async fn read_nothing(mallory: User) {
    let mut streams = Vec::new();
    for front in FRONTS {
        for _ in 0..tier(120, 15) {
            let Ok(client) = open(&mallory, front).await else { continue };
            let arguments = json!({"bytes": tier(2 << 20, 16 << 20)});
            let request = client.request_with_id(1000, "tools/call", call_with_progress("large", &arguments));
            let Ok(mut stream) = mallory.narrow_socket().await else { continue };
            if stream.write_all(&request).await.is_ok() {
                streams.push((client, stream));
            }
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Many small answers are not read: a session whose one stream is stuck is asked again and again.
pub(crate) async fn read_nothing_of_one_stream(mallory: User) {
    let Some((_stream, target)) = stuck(&mallory).await else { return };
    let Ok(mut stream) = mallory.socket().await else { return };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let request = mallory.request("POST", &target, &[], &body);
    let start = Instant::now();
    while goes_on(start) {
        let sent = tokio::time::timeout(Duration::from_millis(200), stream.write_all(&request)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Requests to a blocked session are aborted.
pub(crate) async fn break_off_at_a_stuck_session(mallory: User) {
    let Some((_stream, target)) = stuck(&mallory).await else { return };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let request = mallory.request("POST", &target, &[], &body);
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let (mallory, request) = (mallory.clone(), request.clone());
        tasks.spawn(async move {
            for _ in 0..1000 {
                let Ok(mut stream) = mallory.socket().await else { continue };
                // The server may close it first.
                let _ = stream.write_all(&request).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
                let _ = stream.set_zero_linger();
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

/// A session of the old transport whose stream is not read; returns the stream, and the URL for posts.
async fn stuck(mallory: &User) -> Option<(tokio::net::TcpStream, String)> {
    let mut stream = mallory.narrow_socket().await.ok()?;
    stream.write_all(&mallory.request("GET", "/sse", &[], "")).await.ok()?;
    let mut first = Vec::new();
    while !String::from_utf8_lossy(&first).contains("data: ") {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        first.extend_from_slice(&buffer[..count]);
    }
    let first = String::from_utf8_lossy(&first).into_owned();
    let target = format!("/sse{}", first.lines().find_map(|line| line.strip_prefix("data: "))?);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "stuck", "version": "1"}
    }});
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "large", "arguments": {"bytes": 20 << 20}
    }});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let post = |body: &serde_json::Value| mallory.request("POST", &target, &[], &body.to_string());
    let mut pipe = mallory.connect().await.ok()?.drain();
    pipe.write_all(&[post(&hello), post(&large)].concat()).await.ok()?;
    // The number that the session accepts, until one waits.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        pipe.write_all(&post(&list).repeat(100)).await.ok()?;
        let mut probe = mallory.connect().await.ok()?;
        probe.write(&post(&list)).await.ok()?;
        if tokio::time::timeout(Duration::from_millis(300), probe.response()).await.is_err() {
            break;
        }
    }
    tokio::spawn(async move {
        // The connection stays open as long as the attack.
        tokio::time::sleep(Duration::from_secs(600)).await;
        drop(pipe);
    });
    Some((stream, target))
}

/// Streams of a few connections over HTTP/2, each with a body that is large and kept by a call that does not end.
pub(crate) async fn send_bodies_in_streams(mallory: User) {
    let mut tasks = JoinSet::new();
    let body = Client::stateless("tools/call", call_with_progress("sleep", &json!({"ms": 60_000, "text": FILLER})));
    let body = body.replace(FILLER, &"x".repeat(4 << 20));
    for _ in 0..4 {
        let Ok(connection) = Http2::open(&mallory).await else { continue };
        for _ in 0..50 {
            let (mut connection, body) = (connection.clone(), body.clone());
            tasks.spawn(async move {
                drop(connection.send("POST", "/mcp", &Client::stateless_headers("tools/call", "sleep"), body).await);
            });
        }
    }
    let wait = async { while tasks.join_next().await.is_some() {} };
    drop(tokio::time::timeout(tier(Duration::from_secs(4), Duration::from_secs(40)), wait).await);
}

#[test]
fn bodies_that_do_not_end_stay_within_their_bytes() {
    for identity in identities(Identity::Addresses) {
        let neighbours = Neighbours::start(&Setup { identity, ..Setup::default() });
        neighbours.suffer(leave_bodies_open).serves().grows_at_most(INBOUND + SLACK);
    }
}

#[test]
fn bodies_in_chunks_that_do_not_end_stay_within_their_bytes() {
    Neighbours::start(&Setup::default()).suffer(leave_chunks_open).serves().grows_at_most(INBOUND + SLACK);
}

#[test]
fn many_small_bodies_that_do_not_end_stop_no_other() {
    Neighbours::start(&Setup::default()).suffer(leave_small_bodies_open).serves().grows_at_most(INBOUND + SLACK);
}

#[test]
fn bodies_in_streams_of_one_connection_stay_within_their_bytes() {
    // All calls share the socket of the tool process, where a small one waits for the large ones before it.
    Neighbours::start(&Setup { turn: Duration::from_secs(4), ..Setup::DEFAULT })
        .suffer(send_bodies_in_streams)
        .serves()
        .grows_at_most(INBOUND + SLACK);
}

#[test]
fn answers_that_wait_for_a_client_stay_within_their_bytes() {
    Neighbours::start(&LARGE).suffer(leave_answers).serves().grows_at_most(OUTBOUND + UNHANDLED + SLACK);
}

#[test]
fn answers_that_are_not_read_stay_within_their_bytes() {
    Neighbours::start(&LARGE).suffer(read_nothing).serves().grows_at_most(OUTBOUND + UNHANDLED + SLACK);
}

#[test]
fn a_stream_that_is_not_read_stops_no_other() {
    Neighbours::start(&Setup::default()).suffer(read_nothing_of_one_stream).serves().grows_at_most(2 * SLACK);
}

#[test]
fn requests_that_are_broken_off_leave_nothing_behind() {
    let report = Neighbours::start(&Setup::default()).suffer(break_off_at_a_stuck_session);
    report.serves().grows_at_most(2 * SLACK);
}
