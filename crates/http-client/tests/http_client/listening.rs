//! The stream for messages that belong to no request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use protomcp_http_client::{HttpTransport, Limits};
use protomcp_testing::{Log, StoppedClock, until};
use protomcp_transport::NoAnswer;
use protomcp_types::ProtocolVersion;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::peer::{Peer, SHORT, hasty, params, quick};
use super::script::{Part, Request, Script, event, json, response, result, stream, text, welcome};

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// A client with a session at a server that replies to GET like this; the argument is the number of GETs before.
async fn listening(reply: impl Fn(usize, &Request) -> Vec<Part> + Send + Sync + 'static) -> (Script, Peer) {
    listening_within(quick(), reply).await
}

/// The same with these limits.
async fn listening_within(
    limits: Limits,
    reply: impl Fn(usize, &Request) -> Vec<Part> + Send + Sync + 'static,
) -> (Script, Peer) {
    let count = AtomicUsize::new(0);
    let script = Script::new(move |request| match request.method.as_str() {
        "GET" => reply(count.fetch_add(1, Ordering::SeqCst), request),
        _ if request.body.contains("\"initialize\"") => welcome("2025-11-25"),
        _ if request.body.contains("notifications/") => response(202, "", ""),
        _ => json(&result(1, "{}")),
    })
    .await;
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    (script, peer)
}

fn gets(requests: &[Request]) -> Vec<Option<&str>> {
    let gets = requests.iter().filter(|request| request.method == "GET");
    gets.map(|request| request.headers.get("last-event-id").map(String::as_str)).collect()
}

#[tokio::test]
async fn requests_wait_until_it_is_open() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let (script, mut peer) =
        listening(move |_, _| vec![Part::Wait(Arc::clone(&waiting)), stream(), Part::UntilClosed]).await;
    peer.request(1, "tools/call", params("{}")).await;
    assert!(timeout(SHORT, peer.next()).await.is_err(), "the call was sent before the server could ask about it");
    assert_eq!(script.requests()[2].method, "GET");
    go.notify_one();
    assert_eq!(peer.result(1).await, "{}");
}

#[tokio::test]
async fn requests_do_not_wait_for_a_server_that_does_not_reply() {
    let (_script, mut peer) = listening(|_, _| vec![Part::UntilClosed]).await;
    peer.request(1, "tools/call", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
}

#[tokio::test]
async fn it_is_resumed_after_its_last_event() {
    let (script, mut peer) = listening(|count, _| match count {
        0 => vec![stream(), event("e1", NOTE), Part::Close],
        1 => vec![stream(), event("e2", NOTE), Part::UntilClosed],
        _ => response(500, "", ""),
    })
    .await;
    for _ in 0..2 {
        assert!(peer.next_text().await.contains("list_changed"));
    }
    assert_eq!(gets(&script.requests()), [None, Some("e1")]);
}

#[tokio::test]
async fn a_position_that_is_too_old_is_forgotten() {
    let (script, mut peer) = listening(|_, request| match request.headers.get("last-event-id") {
        None if request.index < 4 => vec![stream(), event("e1", NOTE), Part::Close],
        None => vec![stream(), event("e2", NOTE), Part::UntilClosed],
        Some(_) => response(400, "", ""),
    })
    .await;
    for _ in 0..2 {
        assert!(peer.next_text().await.contains("list_changed"));
    }
    assert_eq!(gets(&script.requests()), [None, Some("e1"), None]);
}

#[tokio::test]
async fn an_event_that_stalls_or_is_too_long_ends_one_stream() {
    let long = format!("data: {}\n\n", "x".repeat(200_000));
    // An event that is too long would come again after the position before it.
    for (rest, position) in [("data: x", Some("e1")), (long.as_str(), None)] {
        let rest = text(rest);
        let limits = quick().with_message_timeout(SHORT);
        let (script, mut peer) = listening_within(limits, move |count, _| match count {
            0 => vec![stream(), event("e1", NOTE), rest.clone(), Part::UntilClosed],
            1 => vec![stream(), event("e2", NOTE), Part::UntilClosed],
            _ => response(500, "", ""),
        })
        .await;
        for _ in 0..2 {
            assert!(peer.next_text().await.contains("list_changed"));
        }
        assert_eq!(gets(&script.requests()), [None, position]);
    }
}

#[tokio::test]
async fn the_head_may_come_with_the_first_event() {
    let clock = StoppedClock::new();
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let parts = move || vec![Part::Wait(Arc::clone(&waiting)), stream(), event("e1", NOTE), Part::UntilClosed];
    let (script, mut peer) = listening_within(hasty(), move |_, _| parts()).await;
    script.seen(3).await;
    for _ in 0..4 {
        clock.advance(SHORT).await;
    }
    assert_eq!(gets(&script.requests()).len(), 1, "the stream is asked for once");
    go.notify_one();
    assert!(peer.next_text().await.contains("list_changed"));
}

/// Asserts that a server with these replies gets this number of GETs.
async fn has_attempts(parts: Vec<Part>, count: usize) {
    let log = Log::capture();
    let (script, _peer) = listening(move |_, _| parts.clone()).await;
    settles_at(&log, &script, count).await;
}

/// Asserts that there were this many GETs when the client stopped to listen, or waited for the longest delay: it logs both,
/// and each delay.
async fn settles_at(log: &Log, script: &Script, count: usize) {
    let has_settled = || {
        log.has("sends such messages to no one") || log.text().matches("listening again after a while").count() == count
    };
    until("the client stops to listen", has_settled).await;
    assert_eq!(gets(&script.requests()).len(), count);
}

#[tokio::test]
async fn empty_streams_use_up_the_attempts() {
    for parts in [
        vec![stream(), Part::Close],
        vec![stream(), text(": hello\n\n"), Part::Close],
        vec![stream(), text("id: 1\ndata:\n\n"), Part::Close],
        response(503, "", ""),
        vec![Part::Close],
    ] {
        has_attempts(parts, 4).await;
    }
    // Each time another position, but never a message.
    let number = Arc::new(AtomicUsize::new(0));
    let log = Log::capture();
    let (script, _peer) = listening(move |_, _| {
        let id = number.fetch_add(1, Ordering::SeqCst);
        vec![stream(), text(&format!("id: {id}\ndata:\n\n")), Part::Close]
    })
    .await;
    settles_at(&log, &script, 4).await;
}

#[tokio::test]
async fn a_server_without_it_is_asked_once() {
    for parts in [response(405, "", ""), response(404, "", ""), response(200, "", ""), response(400, "", "")] {
        has_attempts(parts, 1).await;
    }
}

#[tokio::test]
async fn the_loss_of_the_session_is_passed_on() {
    for status in [404, 400, 410] {
        let (_script, mut peer) = listening(move |count, _| match count {
            0 => vec![stream(), event("e1", NOTE), Part::Close],
            _ => response(status, "", ""),
        })
        .await;
        assert!(peer.next_text().await.contains("list_changed"));
        let (message, facts) = peer.next().await;
        assert!(message.to_text().contains(r#""id":null"#), "{}", message.to_text());
        assert_eq!(facts.find::<NoAnswer>(), Some(&NoAnswer::SessionLost), "{status}");
    }
}
