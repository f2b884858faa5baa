//! Responses that are too long, too slow, or not what they should be.

use std::time::Duration;

use protomcp_http_client::HttpTransport;
use protomcp_transport::NoAnswer;

use super::peer::{Peer, SHORT, params, quick};
use super::script::{Part, Script, event, json, response, result, stream, text};

/// The failure of a request that gets this response.
async fn failure(parts: Vec<Part>) -> (NoAnswer, String) {
    let script = Script::new(move |_| parts.clone()).await;
    Peer::quick(&script.url()).fails(1, "tools/list").await
}

/// The failure of a request that gets this response, when time matters.
async fn late_failure(parts: Vec<Part>) -> (NoAnswer, String) {
    let script = Script::new(move |_| parts.clone()).await;
    Peer::hasty(&script.url()).fails(1, "tools/list").await
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let head = text("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n");
    let endless = Part::Endless("x".repeat(10_000), Duration::ZERO);
    let (reason, why) = failure(vec![head, endless]).await;
    assert_eq!((reason, why.as_str()), (NoAnswer::Incomplete, "a message is longer than 100000 bytes"));
}

#[tokio::test]
async fn an_endless_event_is_cut() {
    for start in ["data: ", "data: a\ndata: "] {
        let endless = Part::Endless("x".repeat(10_000), Duration::ZERO);
        let (reason, why) = failure(vec![stream(), text(start), endless]).await;
        assert_eq!((reason, why.as_str()), (NoAnswer::Incomplete, "a message is longer than 100000 bytes"));
    }
}

#[tokio::test]
async fn a_dripping_event_is_cut() {
    let drip = Part::Endless("x".to_owned(), Duration::from_millis(10));
    let (reason, why) = late_failure(vec![stream(), text("data: "), drip]).await;
    let expected = "a message did not arrive within 300ms; its events have no ids to resume it from";
    assert_eq!((reason, why.as_str()), (NoAnswer::Incomplete, expected));
}

#[tokio::test]
async fn a_dripping_body_is_cut() {
    let head = text("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n");
    let drip = Part::Endless(" ".to_owned(), Duration::from_millis(10));
    let (reason, why) = late_failure(vec![head, drip]).await;
    assert_eq!((reason, why.as_str()), (NoAnswer::Incomplete, "a message did not arrive within 300ms"));
}

#[tokio::test]
async fn a_response_without_a_head_is_given_up() {
    for parts in [vec![Part::UntilClosed], vec![Part::Endless("H".to_owned(), Duration::from_millis(10))]] {
        let script = Script::new(move |_| parts.clone()).await;
        let limits = quick().with_answer_timeout(SHORT);
        let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
        let (reason, why) = peer.fails(1, "tools/list").await;
        assert_eq!((reason, why.as_str()), (NoAnswer::Connection, "no response within 300ms"));
    }
}

#[tokio::test]
async fn an_endless_head_is_cut() {
    let fields =
        Part::Endless("x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(100), Duration::ZERO);
    let (reason, why) = failure(vec![text("HTTP/1.1 200 OK\r\n"), fields]).await;
    assert_eq!(reason, NoAnswer::Connection, "{why}");
}

#[tokio::test]
async fn a_silent_stream_waits_for_its_answer() {
    let late = std::sync::Arc::new(tokio::sync::Notify::new());
    let go = std::sync::Arc::clone(&late);
    let script = Script::new(move |_| {
        vec![
            stream(),
            text(": keep-alive\n\n"),
            Part::Wait(std::sync::Arc::clone(&go)),
            event("1", &result(1, "{}")),
            Part::Close,
        ]
    })
    .await;
    let mut peer = Peer::hasty(&script.url());
    peer.request(1, "tools/list", params("{}")).await;
    // Longer than every limit.
    tokio::time::sleep(Duration::from_millis(700)).await;
    late.notify_one();
    assert_eq!(peer.result(1).await, "{}");
}

#[tokio::test]
async fn a_body_may_begin_with_a_byte_order_mark() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"full"}}"#;
    for (parts, expected) in [
        (json(&format!("\u{feff}{}", result(1, "{}"))), "a result"),
        (vec![stream(), text("\u{feff}"), event("1", &result(1, "{}")), Part::Close], "a result"),
        (response(400, "content-type: application/json\r\n", &format!("\u{feff}{error}")), "full"),
    ] {
        let script = Script::new(move |_| parts.clone()).await;
        let mut peer = Peer::quick(&script.url());
        peer.request(1, "tools/list", params("{}")).await;
        let (message, _) = peer.next().await;
        let protomcp_types::Message::Response(response) = message else { panic!("{message:?}") };
        let outcome = response.outcome.map_or_else(|error| error.message.to_string(), |_| "a result".to_owned());
        assert_eq!(outcome, expected);
    }
}

#[tokio::test]
async fn a_response_of_another_kind_does_not_answer() {
    let status = NoAnswer::Status;
    for (parts, reason) in [
        (response(200, "content-type: text/html\r\n", "<html>"), status(200)),
        (response(202, "", ""), status(202)),
        (json("<html>"), status(200)),
        (json("{}"), status(200)),
        (json(&result(2, "{}")), status(200)),
        (json(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#), status(200)),
        (response(500, "content-type: text/plain\r\n", "out of\nmemory"), status(500)),
        // An error without an id, of a server that has not taken the request.
        (response(503, "", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}"#), status(503)),
        (response(404, "", ""), status(404)),
        (response(400, "content-type: application/json\r\n", r#"{"error":"x"}"#), status(400)),
        (response(403, "", ""), status(403)),
        (response(403, "www-authenticate: Bearer\r\n", ""), NoAnswer::Unauthorized),
        (response(401, "", ""), NoAnswer::Unauthorized),
        (
            response(401, "", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"x"}}"#),
            NoAnswer::Unauthorized,
        ),
        (vec![stream(), text("event: other\ndata: x\n\n"), Part::Close], NoAnswer::Incomplete),
        (vec![Part::Close], NoAnswer::Connection),
    ] {
        let script = Script::new(move |_| parts.clone()).await;
        let mut peer = Peer::quick(&script.url());
        peer.request(1, "tools/list", params("{}")).await;
        let (mut message, mut facts) = peer.next().await;
        if matches!(message, protomcp_types::Message::Notification(_)) {
            (message, facts) = peer.next().await;
        }
        assert_eq!(facts.find::<NoAnswer>(), Some(&reason), "{}", message.to_text());
    }
    let (_, why) = failure(response(500, "", "out of\nmemory")).await;
    assert_eq!(why, "the server replied with 500 Internal Server Error: out ofmemory");
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"try again"}}"#;
    let (_, why) = failure(response(503, "", error)).await;
    assert_eq!(why, "the server replied with 503 Service Unavailable: try again");
}

#[tokio::test]
async fn an_error_of_the_server_carries_its_status() {
    for (status, body, expected) in [
        (400, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#, (400, -32602)),
        (404, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#, (404, -32601)),
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#, (400, -32700)),
        (403, r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"x"}}"#, (403, -32000)),
        (500, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}"#, (500, -32603)),
    ] {
        let script = Script::new(move |_| response(status, "", body)).await;
        let mut peer = Peer::quick(&script.url());
        peer.request(1, "tools/list", params("{}")).await;
        assert_eq!(peer.refusal().await, expected, "{body}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_was_sent_nothing() {
    let script = Script::new(|_| Vec::new()).await;
    let url = script.url();
    drop(script);
    let (reason, why) = Peer::quick(&url).fails(1, "tools/list").await;
    assert_eq!(reason, NoAnswer::NotSent);
    assert!(why.contains("cannot be reached") && why.contains("refused"), "{why}");
}

#[tokio::test]
async fn text_that_is_not_a_message_does_not_end_a_stream() {
    let parts = || vec![stream(), text("data: nonsense\n\n"), event("2", &result(1, "{}")), Part::Close];
    let script = Script::new(move |_| parts()).await;
    let mut peer = Peer::quick(&script.url());
    peer.request(1, "tools/list", params("{}")).await;
    let received = protomcp_transport::Source::next(&mut peer.source).await.unwrap().unwrap();
    assert!(received.is_err());
    assert_eq!(peer.result(1).await, "{}");
}

#[tokio::test]
async fn the_time_of_a_body_begins_with_its_first_byte() {
    let late = std::sync::Arc::new(tokio::sync::Notify::new());
    let go = std::sync::Arc::clone(&late);
    let script = Script::new(move |_| {
        let body = result(1, "{}");
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        vec![text(&head), Part::Wait(std::sync::Arc::clone(&go)), text(&body)]
    })
    .await;
    let mut peer = Peer::hasty(&script.url());
    peer.request(1, "tools/list", params("{}")).await;
    script.seen(1).await;
    // Longer than the time of a message.
    tokio::time::sleep(2 * SHORT).await;
    late.notify_one();
    assert_eq!(peer.result(1).await, "{}");
}

#[tokio::test]
async fn bodies_that_do_not_fit_together_arrive_one_after_the_other() {
    let gates: Vec<_> = (0..40).map(|_| std::sync::Arc::new(tokio::sync::Notify::new())).collect();
    let waiting = gates.clone();
    let script = Script::new(move |request| {
        let body = result(request.id(), &format!("\"{}\"", "x".repeat(90_000)));
        let (start, end) = body.split_at(80_000);
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        vec![text(&head), text(start), Part::Wait(std::sync::Arc::clone(&waiting[request.index])), text(end)]
    })
    .await;
    // The least capacity is one message and 1 MiB.
    let limits = quick().with_max_buffered(0);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    for id in 0..40 {
        peer.request(id, "tools/list", params("{}")).await;
    }
    script.seen(40).await;
    tokio::time::sleep(SHORT).await;
    gates.iter().for_each(|gate| gate.notify_one());
    for _ in 0..40 {
        let (message, _) = peer.next().await;
        assert!(message.to_text().len() > 90_000, "{}", message.to_text());
    }
}

#[tokio::test]
async fn limits_of_any_size_are_usable() {
    use protomcp_http_client::Limits;
    let changes: [fn(&mut Limits); 12] = [
        |limits| limits.max_concurrent_requests = usize::MAX,
        |limits| limits.max_concurrent_requests = 0,
        |limits| limits.max_message = usize::MAX,
        |limits| limits.max_buffered = usize::MAX,
        |limits| limits.max_head = 100,
        |limits| limits.max_head = 0,
        |limits| limits.max_head = usize::MAX,
        |limits| limits.max_buffered = 0,
        |limits| limits.message_timeout = Duration::MAX,
        |limits| limits.reconnect_delay = Duration::MAX,
        |limits| {
            limits.reconnect_delay = Duration::ZERO;
            limits.max_reconnects = u32::MAX;
        },
        |limits| {
            limits.connect_timeout = Duration::MAX;
            limits.answer_timeout = Duration::MAX;
            limits.head_timeout = Duration::MAX;
            limits.end_timeout = Duration::MAX;
        },
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let script = Script::new(|request| match request.index {
            0 => vec![stream(), event("1", &result(1, "{}")), Part::Close],
            _ => json(&result(2, "{}")),
        })
        .await;
        let mut limits = Limits::default();
        change(&mut limits);
        let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
        for id in [1, 2] {
            peer.request(id, "tools/list", params("{}")).await;
            assert_eq!(peer.result(id).await, "{}", "{index}");
        }
    }
}
