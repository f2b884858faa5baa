//! Two servers that share their sessions: alice uses one, mallory attacks the other, and with it the store.

use protomcp_conformance::neighbours::{Front, Neighbours, Setup, User};
use serde_json::json;

use crate::{SLACK, call, floods, goes_on, link, open, sessions};

const TWO: Setup<'_> = Setup { replicas: true, ..Setup::DEFAULT };

/// Requests for sessions that no server has, each of which asks the store.
pub(crate) async fn make_sessions_up(mallory: User) {
    let start = std::time::Instant::now();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mut number = 0_u64;
    while goes_on(start) {
        number += 1;
        let session = format!("{number:032}");
        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
        let request = mallory.request("POST", "/mcp", &headers, &ping);
        let Ok(mut connection) = mallory.connect().await else { continue };
        if connection.write(&request).await.is_ok() {
            let _ = connection.response().await;
        }
    }
}

/// Events, each of which is written to the store.
pub(crate) async fn store_events(mallory: User) {
    let start = std::time::Instant::now();
    while goes_on(start) {
        let Ok(mut client) = open(&mallory, Front::Session).await else { continue };
        let text = "x".repeat(20_000);
        let mut params = call("progress", &json!({"count": 100, "text": text}));
        params["_meta"] = json!({"progressToken": "p"});
        // The server may refuse it.
        let _ = client.ask("tools/call", params).await;
    }
}

#[test]
fn sessions_that_come_and_go_elsewhere_stop_no_other() {
    Neighbours::start(&TWO).suffer(sessions::come_and_go).serves().grows_at_most(SLACK);
}

#[test]
fn events_that_fill_the_store_stop_no_other() {
    Neighbours::start(&TWO).suffer(store_events).serves().grows_at_most(SLACK);
}

#[test]
fn sessions_that_are_made_up_stop_no_other() {
    Neighbours::start(&TWO).suffer(make_sessions_up).serves().grows_at_most(SLACK);
}

#[test]
fn notices_from_another_server_stop_no_other() {
    Neighbours::start(&TWO).suffer(link::change).serves().grows_at_most(SLACK);
    Neighbours::start(&TWO).suffer(link::log).serves().grows_at_most(SLACK).keeps_the_secret();
    Neighbours::start(&TWO).suffer(floods::subscribe).serves().grows_at_most(SLACK);
}
