//! The life of a session: its id, its loss, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_http_client::HttpTransport;
use protomcp_testing::StoppedClock;
use protomcp_transport::{HttpStatus, NoAnswer, RequestStreams, Sink};
use protomcp_types::{JsonBuf, Message, ProtocolVersion};
use tokio::sync::Notify;

use super::peer::{Peer, SHORT, params, quick, stateless};
use super::script::{Part, Script, in_session, json, response, result, welcome};

#[tokio::test]
async fn the_fields_of_a_session_follow_the_handshake() {
    for (version, expected) in [
        (ProtocolVersion::V2024_11_05, None),
        (ProtocolVersion::V2025_03_26, None),
        (ProtocolVersion::V2025_06_18, Some("2025-06-18")),
        (ProtocolVersion::V2025_11_25, Some("2025-11-25")),
    ] {
        let script = Script::new(move |request| match request.method.as_str() {
            "POST" if request.body.contains("\"initialize\"") => welcome(version.as_str()),
            "POST" if request.body.contains("notifications/") => response(202, "", ""),
            "POST" => json(&result(1, "{}")),
            _ => response(405, "", ""),
        })
        .await;
        let mut peer = Peer::quick(&script.url());
        peer.initialize(version).await;
        peer.request(1, "tools/list", params("{}")).await;
        peer.result(1).await;
        let requests = script.seen(4).await;
        for name in ["mcp-session-id", "mcp-protocol-version", "mcp-method"] {
            assert!(!requests[0].headers.contains_key(name), "{name}");
        }
        for request in &requests[1..] {
            assert_eq!(request.headers["mcp-session-id"], "s1");
            assert_eq!(request.headers.get("mcp-protocol-version").map(String::as_str), expected);
        }
        // A request without a session names none.
        peer.request(2, "tools/list", stateless("")).await;
        let requests = script.seen(5).await;
        let headers = &requests[4].headers;
        assert!(!headers.contains_key("mcp-session-id"));
        assert_eq!(
            (headers["mcp-protocol-version"].as_str(), headers["mcp-method"].as_str()),
            ("2026-07-28", "tools/list")
        );
    }
}

#[tokio::test]
async fn an_unknown_session_is_distinguished_from_other_failures() {
    let unknown = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
    let own = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found"}}"#;
    for body in ["", unknown, own] {
        let script = Script::new(in_session(move |_| response(404, "content-type: application/json\r\n", body))).await;
        let mut peer = Peer::quick(&script.url());
        peer.initialize(ProtocolVersion::V2025_11_25).await;
        assert_eq!(peer.fails(1, "tools/list").await.0, NoAnswer::SessionLost);
        // Another handshake begins another session.
        peer.initialize(ProtocolVersion::V2025_11_25).await;
    }
    let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#;
    let script = Script::new(in_session(move |_| response(404, "", unknown))).await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "x", params("{}")).await;
    assert_eq!(peer.refusal().await, (404, -32601));
}

#[tokio::test]
async fn a_forgotten_session_has_other_statuses_as_well() {
    let error = |id: &str, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{message}"}}}}"#)
    };
    for body in [
        String::new(),
        "No valid session ID provided".to_owned(),
        error("null", "Bad Request"),
        error("1", "Bad Request: No valid Session ID provided"),
        error("1", "Bad Request: Server not initialized"),
        r#"{"error":"unknown"}"#.to_owned(),
    ] {
        for status in [400, 410] {
            let reply = response(status, "content-type: application/json\r\n", &body);
            let script = Script::new(in_session(move |_| reply.clone())).await;
            let mut peer = Peer::quick(&script.url());
            peer.initialize(ProtocolVersion::V2025_11_25).await;
            peer.request(1, "tools/list", params("{}")).await;
            let (message, facts) = peer.next().await;
            assert_eq!(facts.find::<NoAnswer>(), Some(&NoAnswer::SessionLost), "{}", message.to_text());
            assert_eq!(facts.find::<HttpStatus>(), Some(&HttpStatus(status)));
            assert!(message.to_text().contains(&status.to_string()), "{}", message.to_text());
        }
    }
    let answer = error("1", "unknown tool");
    let script = Script::new(in_session(move |_| response(400, "", &answer))).await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", params("{}")).await;
    assert_eq!(peer.refusal().await, (400, -32000));
}

#[tokio::test]
async fn the_end_of_a_session_is_sent_to_the_server() {
    let script = Script::new(in_session(|_| response(200, "", ""))).await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.sink.end_session();
    peer.flush().await;
    let requests = script.requests();
    let ended = requests.iter().find(|request| request.method == "DELETE").expect("no DELETE");
    assert_eq!(ended.headers["mcp-session-id"], "s1");
    assert_eq!(ended.headers["mcp-protocol-version"], "2025-11-25");
    // There is nothing to end any longer.
    peer.sink.end_session();
    peer.flush().await;
    assert_eq!(script.requests().iter().filter(|request| request.method == "DELETE").count(), 1);
}

#[tokio::test]
async fn a_server_that_ignores_the_end_delays_it_briefly() {
    let script = Script::new(in_session(|_| vec![Part::UntilClosed])).await;
    let limits = quick().with_end_timeout(SHORT);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.sink.end_session();
    peer.flush().await;
}

#[tokio::test]
async fn the_end_waits_for_earlier_notifications() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(in_session(move |request| match request.method.as_str() {
        "POST" => [vec![Part::Wait(Arc::clone(&waiting))], response(202, "", "")].concat(),
        _ => response(204, "", ""),
    }))
    .await;
    let mut peer = Peer::new(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    script.seen(3).await;
    peer.notify("notifications/roots/list_changed", params("{}")).await;
    peer.sink.end_session();
    let requests = script.seen(4).await;
    assert!(requests.iter().all(|request| request.method != "DELETE"));
    go.notify_one();
    peer.flush().await;
    assert_eq!(script.seen(5).await[4].method, "DELETE");
}

#[tokio::test]
async fn dropping_the_sink_ends_everything() {
    let script = Script::new(|request| match request.method.as_str() {
        "POST" if request.body.contains("\"initialize\"") => welcome("2025-11-25"),
        "POST" if request.body.contains("notifications/") => response(202, "", ""),
        // A request without a response, and a stream without an end.
        "POST" => vec![Part::UntilClosed],
        _ => vec![super::script::stream(), Part::UntilClosed],
    })
    .await;
    let mut peer = Peer::new(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", params("{}")).await;
    script.seen(4).await;
    drop(peer.sink);
    let rest = protomcp_transport::Source::next(&mut peer.source).await.unwrap();
    assert!(rest.is_none());
    script.closed(2).await;
}

#[tokio::test]
async fn a_session_that_the_client_rejects_is_ended() {
    let script = Script::new(in_session(|_| response(200, "", ""))).await;
    let mut peer = Peer::quick(&script.url());
    peer.request(0, "initialize", params("{}")).await;
    peer.result(0).await;
    // Without `begin_session`: the client does not know the revision.
    peer.sink.end_session();
    peer.flush().await;
    let requests = script.requests();
    let ended = requests.iter().find(|request| request.method == "DELETE").expect("no DELETE");
    assert_eq!(ended.headers["mcp-session-id"], "s1");
}

#[tokio::test]
async fn a_message_that_is_refused_for_now_is_sent_again() {
    let (ends, answers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_first = |count: &AtomicUsize| count.fetch_add(1, Ordering::SeqCst) == 0;
    let script = Script::new(move |request| match request.body.as_str() {
        body if body.contains("\"initialize\"") => welcome("2025-11-25"),
        body if body.contains("tools/call") => json(&result(1, "{}")),
        body if body.contains("initialized") && is_first(&ends) => response(503, "", ""),
        body if body.contains("\"id\":7") && is_first(&answers) => response(429, "", ""),
        "" => response(405, "", ""),
        _ => response(202, "", ""),
    })
    .await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    peer.sink.send(Message::result(7.into(), JsonBuf::object().finish()), None).unwrap();
    peer.flush().await;
    let requests = script.seen(7).await;
    let count = |text: &str| requests.iter().filter(|request| request.body.contains(text)).count();
    assert_eq!((count("notifications/initialized"), count("tools/call"), count("\"id\":7")), (2, 1, 2));
    assert!(requests.iter().any(|request| request.method == "GET"), "the handshake is complete");
}

#[tokio::test]
async fn messages_that_are_refused_again_and_again_do_not_add_up() {
    let script = Script::new(in_session(|request| {
        let is_refused = request.body.contains("roots");
        response(if is_refused { 503 } else { 202 }, "", "")
    }))
    .await;
    let mut peer = Peer::quick(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    script.seen(3).await;
    let clock = StoppedClock::new();
    for method in ["notifications/roots/list_changed", "notifications/roots/list_changed", "notifications/progress"] {
        peer.notify(method, params("{}")).await;
    }
    let count = |text: &str| script.requests().iter().filter(|request| request.body.contains(text)).count();
    while count("progress") == 0 {
        clock.advance(Duration::from_millis(250)).await;
    }
    assert_eq!(count("roots/list_changed"), 3 + 1, "the second has one attempt");
}
