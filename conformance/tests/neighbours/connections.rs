//! Connections that occupy a slot and send little.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Client, Http2, Identity, Neighbours, Setup, User};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::{SLACK, goes_on};

/// The limit that a login shell sets on most systems.
const FEW: Setup<'_> = Setup { descriptors: Some(1024), ..Setup::DEFAULT };

const TLS: Setup<'_> = Setup { tls: true, ..Setup::DEFAULT };

/// Opens as many connections as it can, up to this, and writes these bytes on each.
async fn open_many(mallory: &User, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let connected = tokio::time::timeout(Duration::from_millis(200), mallory.socket()).await;
        let Ok(Ok(mut stream)) = connected else { continue };
        if bytes.is_empty() || stream.write_all(bytes).await.is_ok() {
            streams.push(stream);
        }
    }
    streams
}

/// Connections without a byte.
pub(crate) async fn say_nothing(mallory: User) {
    let _streams = open_many(&mallory, 1500, b"").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Connections that have had one answer, and send no further request.
pub(crate) async fn ask_once(mallory: User) {
    let request = mallory.request("GET", "/nothing", &[], "");
    let _streams = open_many(&mallory, 1500, &request).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Connections that send their first request byte by byte.
pub(crate) async fn ask_slowly(mallory: User) {
    let mut streams = open_many(&mallory, 1000, b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-a: ").await;
    let start = Instant::now();
    while goes_on(start) {
        for stream in &mut streams {
            // Some are closed by now.
            let _ = stream.try_write(b"a");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Connections with heads just below the maximum size.
pub(crate) async fn fill_heads(mallory: User) {
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-a: {}", "a".repeat(60_000));
    let _streams = open_many(&mallory, 900, head.as_bytes()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Requests that are started in streams, and reset.
pub(crate) async fn reset_streams(mallory: User) {
    let start = Instant::now();
    while goes_on(start) {
        let Ok(mut connection) = Http2::open(&mallory).await else { continue };
        for _ in 0..500 {
            let body = Client::stateless("tools/call", json!({"name": "sleep", "arguments": {"ms": 10}}));
            let headers = Client::stateless_headers("tools/call", "sleep");
            let sent = connection.send("POST", "/mcp", &headers, body);
            if !matches!(tokio::time::timeout(Duration::from_micros(500), sent).await, Err(_) | Ok(Ok(_))) {
                break;
            }
        }
    }
}

/// Handshakes whose first message has begun.
pub(crate) async fn begin_handshakes(mallory: User) {
    let _streams = open_many(&mallory, 700, b"\x16").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
}

/// Handshakes whose first message is complete, and that end there.
pub(crate) async fn leave_handshakes(mallory: User) {
    let _streams = open_many(&mallory, 700, &mallory.client_hello()).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
}

/// Handshakes whose first message comes byte by byte.
pub(crate) async fn begin_handshakes_slowly(mallory: User) {
    let hello = mallory.client_hello();
    let mut streams = open_many(&mallory, 700, &hello[..1]).await;
    for byte in hello.chunks(1).skip(1).take(40) {
        for stream in &mut streams {
            let _ = stream.try_write(byte);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn idle_connections_keep_no_other_out() {
    for identity in [Identity::Tokens, Identity::Addresses] {
        Neighbours::start(&Setup { identity, ..FEW }).suffer(say_nothing).serves();
    }
}

#[test]
fn connections_that_wait_for_nothing_keep_no_other_out() {
    Neighbours::start(&FEW).suffer(ask_once).serves();
}

#[test]
fn slow_requests_keep_no_other_out() {
    Neighbours::start(&FEW).suffer(ask_slowly).serves();
}

#[test]
fn large_heads_stay_within_their_bytes() {
    Neighbours::start(&Setup::default()).suffer(fill_heads).serves().grows_at_most(2 * SLACK);
}

#[test]
fn streams_that_are_reset_stop_no_other() {
    Neighbours::start(&Setup::default()).suffer(reset_streams).serves().grows_at_most(SLACK);
}

#[test]
fn unfinished_handshakes_keep_no_other_out() {
    Neighbours::start(&TLS).suffer(begin_handshakes).serves();
    Neighbours::start(&TLS).suffer(begin_handshakes_slowly).serves();
    Neighbours::start(&TLS).suffer(leave_handshakes).serves();
}
