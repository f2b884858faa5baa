//! Sessions and their stored data.

use std::time::{Duration, Instant};

use protomcp_conformance::neighbours::{Front, Identity, Neighbours, Setup, User};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::{SLACK, call_with_progress, goes_on, identities, open};

/// A small session table, which is soon full.
const FEW: Setup<'_> = Setup { flags: &["--max-sessions", "60"], ..Setup::DEFAULT };

/// Takes all sessions, and keeps all of them in use.
pub(crate) async fn hoard(mallory: User) {
    let (mut clients, start) = (Vec::new(), Instant::now());
    while goes_on(start) {
        for front in [Front::Session, Front::Sse] {
            clients.extend(open(&mallory, front).await.ok());
        }
        clients.truncate(200);
        let mut used = Vec::new();
        for mut client in clients {
            // Sessions that the server has taken back are skipped.
            if client.ask("ping", json!({})).await.is_ok() {
                used.push(client);
            }
        }
        clients = used;
    }
}

/// Opens sessions and never completes their handshake.
pub(crate) async fn begin_only(mallory: User) {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}
    }});
    let request = mallory.request("POST", "/mcp", &[], &hello.to_string());
    let start = Instant::now();
    while goes_on(start) {
        let Ok(connection) = mallory.connect().await else { continue };
        let mut write = connection.drain();
        for _ in 0..50 {
            if write.write_all(&request).await.is_err() {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Opens and ends sessions as fast as possible.
pub(crate) async fn come_and_go(mallory: User) {
    let start = Instant::now();
    while goes_on(start) {
        for front in [Front::Session, Front::Sse] {
            if let Ok(client) = open(&mallory, front).await {
                // The server may have ended it already.
                let _ = client.close().await;
            }
        }
    }
}

/// Opens and closes streams, with and without a session.
pub(crate) async fn listen_and_go(mallory: User) {
    let (start, mut kept) = (Instant::now(), Vec::new());
    while goes_on(start) {
        for front in [Front::Session, Front::Stateless] {
            let Ok(mut client) = open(&mallory, front).await else { continue };
            for _ in 0..5 {
                let _ = client.listen(|| ()).await;
            }
            kept.push(client);
        }
        kept.truncate(20);
    }
}

/// Four large answers as events, which are kept for a client that resumes.
pub(crate) async fn keep_large_events(mallory: User) {
    let Ok(mut client) = open(&mallory, Front::Session).await else { return };
    for _ in 0..4 {
        // The server may reject some.
        let _ = client.ask("tools/call", call_with_progress("large", &json!({"bytes": 30_000_000}))).await;
    }
}

/// Many small answers, in many sessions.
pub(crate) async fn keep_many_events(mallory: User) {
    let (mut clients, start) = (Vec::new(), Instant::now());
    while goes_on(start) {
        let Ok(mut client) = open(&mallory, Front::Session).await else { continue };
        let text = "x".repeat(20_000);
        let _ = client.ask("tools/call", call_with_progress("progress", &json!({"count": 100, "text": text}))).await;
        clients.push(client);
    }
}

/// Resumes from the same events repeatedly.
pub(crate) async fn replay_again(mallory: User) {
    let Ok(mut client) = open(&mallory, Front::Session).await else { return };
    let Ok(event) = client.cut_call_of("large", json!({"bytes": 1 << 20})).await else { return };
    let start = Instant::now();
    while goes_on(start) {
        let _ = client.resume(&event).await;
    }
}

#[test]
fn sessions_that_are_hoarded_leave_room_for_others() {
    for identity in identities(Identity::Tokens) {
        Neighbours::start(&Setup { identity, ..FEW }).suffer(hoard).serves();
    }
}

#[test]
fn sessions_without_a_handshake_leave_room_for_others() {
    for identity in identities(Identity::Addresses) {
        Neighbours::start(&Setup { identity, ..FEW }).suffer(begin_only).serves();
    }
}

#[test]
fn sessions_that_come_and_go_leave_nothing_behind() {
    Neighbours::start(&Setup::default()).suffer(come_and_go).serves().grows_at_most(SLACK);
}

#[test]
fn listening_again_and_again_leaves_nothing_behind() {
    Neighbours::start(&Setup::default()).suffer(listen_and_go).serves().grows_at_most(SLACK);
}

#[test]
fn events_of_one_caller_are_not_dropped_for_another() {
    Neighbours::start(&Setup::default()).suffer(keep_large_events).serves();
    Neighbours::start(&Setup::default()).suffer(keep_many_events).serves();
}

#[test]
fn a_session_that_replays_again_and_again_stops_no_other() {
    Neighbours::start(&Setup::default()).suffer(replay_again).serves();
}
