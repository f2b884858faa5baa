//! Streams that end before their answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_http_client::HttpTransport;
use protomcp_transport::NoAnswer;
use protomcp_types::ProtocolVersion;

use super::peer::{Peer, SHORT, params, quick, stateless};
use super::script::{Part, Request, Script, event, in_session, json, response, result, stream, text};

/// A client with a session, and a server that replies like this to anything but the handshake.
async fn session(reply: impl Fn(&Request) -> Vec<Part> + Send + Sync + 'static) -> (Script, Peer) {
    let script = Script::new(in_session(reply)).await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    // The handshake, its end, and GET.
    script.seen(3).await;
    (script, peer)
}

#[tokio::test]
async fn the_answer_comes_after_the_delay_of_the_server() {
    let (script, mut peer) = session(|request| match request.method.as_str() {
        "POST" => vec![stream(), text("id: e1\nretry: 500\ndata: \n\n"), Part::Close],
        _ => vec![stream(), event("e2", &result(1, "{}")), Part::Close],
    })
    .await;
    let start = Instant::now();
    peer.request(1, "tools/call", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(500), "{took:?}");
    let requests = script.requests();
    let resumed = &requests[4];
    assert_eq!((requests.len(), resumed.method.as_str()), (5, "GET"));
    for (name, value) in [
        ("last-event-id", "e1"),
        ("mcp-session-id", "s1"),
        ("mcp-protocol-version", "2025-11-25"),
        ("accept", "text/event-stream"),
    ] {
        assert_eq!(resumed.headers[name], value);
    }
}

#[tokio::test]
async fn each_resumption_begins_at_the_last_event() {
    let (script, mut peer) = session(|request| {
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
        match request.headers.get("last-event-id").map(String::as_str) {
            None => vec![stream(), event("e1", notification), Part::Close],
            Some("e1") => vec![stream(), event("e2", notification), event("e3", notification), Part::Close],
            Some(_) => vec![stream(), event("e4", &result(1, "{}")), Part::Close],
        }
    })
    .await;
    peer.request(1, "tools/call", params("{}")).await;
    for _ in 0..3 {
        assert!(peer.next_text().await.contains("progress"));
    }
    assert_eq!(peer.result(1).await, "{}");
    let positions: Vec<_> =
        script.requests().iter().filter_map(|request| request.headers.get("last-event-id").cloned()).collect();
    assert_eq!(positions, ["e1", "e3"]);
}

#[tokio::test]
async fn a_stream_that_stalls_within_an_event_is_resumed() {
    let script = Script::new(in_session(|request| match request.method.as_str() {
        "POST" => vec![stream(), text("id: e1\ndata: \n\ndata: x"), Part::UntilClosed],
        _ => vec![stream(), event("e2", &result(1, "{}")), Part::Close],
    }))
    .await;
    let limits = quick().with_message_timeout(SHORT);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    assert_eq!(script.requests().last().unwrap().headers["last-event-id"], "e1");
}

#[tokio::test]
async fn empty_streams_use_up_the_attempts() {
    for empty in [
        vec![stream(), Part::Close],
        vec![stream(), text(": hello\n\n"), Part::Close],
        response(503, "", ""),
        vec![Part::Close],
    ] {
        let (script, mut peer) = session(move |request| match request.method.as_str() {
            "POST" => vec![stream(), text("id: e1\ndata: \n\n"), Part::Close],
            _ => empty.clone(),
        })
        .await;
        peer.request(1, "tools/call", params("{}")).await;
        let (reason, why) = peer.failure(1).await;
        assert_eq!(reason, NoAnswer::Incomplete, "{why}");
        // Four before, and three attempts.
        assert_eq!(script.requests().len(), 7);
    }
}

#[tokio::test]
async fn a_permanent_status_ends_the_attempts() {
    for status in [400, 401, 403, 404, 405, 410, 200] {
        let (script, mut peer) = session(move |request| match request.method.as_str() {
            "POST" => vec![stream(), text("id: e1\ndata: \n\n"), Part::Close],
            _ => response(status, "", ""),
        })
        .await;
        peer.request(1, "tools/call", params("{}")).await;
        assert_eq!(peer.failure(1).await.0, NoAnswer::Incomplete);
        assert_eq!(script.requests().len(), 5);
    }
}

#[tokio::test]
async fn a_stream_without_ids_cannot_be_resumed() {
    let (script, mut peer) = session(|_| vec![stream(), text("data: \n\n"), Part::Close]).await;
    peer.request(1, "tools/call", params("{}")).await;
    assert_eq!(peer.failure(1).await.0, NoAnswer::Incomplete);
    assert_eq!(script.requests().len(), 4);
}

#[tokio::test]
async fn a_stateless_request_is_never_resumed() {
    let script = Script::new(|_| vec![stream(), event("e1", "{}"), text("id: e2\n\n"), Part::Close]).await;
    let mut peer = Peer::quick(&script.url());
    peer.request(1, "tools/call", stateless(r#""name":"a""#)).await;
    let received = protomcp_transport::Source::next(&mut peer.source).await.unwrap().unwrap();
    assert!(received.is_err());
    let (reason, why) = peer.failure(1).await;
    assert_eq!(reason, NoAnswer::Incomplete);
    assert!(why.contains("cannot resume"), "{why}");
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_on_another_stream_ends_the_request() {
    let answered = Arc::new(tokio::sync::Notify::new());
    let go = Arc::clone(&answered);
    let (script, mut peer) = session(move |request| {
        if request.body.contains("\"id\":1") {
            vec![stream(), text(": waits\n\n"), Part::Wait(Arc::clone(&go)), Part::UntilClosed]
        } else {
            vec![stream(), event("1", &result(1, "{}")), event("2", &result(2, "{}")), Part::Close]
        }
    })
    .await;
    peer.request(1, "tools/call", params("{}")).await;
    script.seen(4).await;
    peer.request(2, "tools/call", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    assert_eq!(peer.result(2).await, "{}");
    answered.notify_one();
    script.closed(1).await;
    drop(peer.sink);
    let rest = protomcp_transport::Source::next(&mut peer.source).await.unwrap();
    assert!(rest.is_none(), "{rest:?}");
}

#[tokio::test]
async fn an_answer_is_delivered_once() {
    let (_script, mut peer) = session(|request| {
        if request.body.contains("\"id\":1") {
            vec![stream(), event("1", &format!("[{0},{0}]", result(1, "{}"))), Part::Close]
        } else {
            json(&result(2, "{}"))
        }
    })
    .await;
    peer.request(1, "tools/call", params("{}")).await;
    let received = protomcp_transport::Source::next(&mut peer.source).await.unwrap().unwrap().unwrap();
    let protomcp_types::Incoming::Batch(messages) = received else { panic!("no batch") };
    assert_eq!(messages.len(), 1);
    peer.request(2, "tools/call", params("{}")).await;
    assert_eq!(peer.result(2).await, "{}");
}
