//! The order of requests, their number, and their ends.

use std::sync::Arc;

use protomcp_http_client::HttpTransport;
use protomcp_testing::{StoppedClock, in_time};
use protomcp_transport::{NoAnswer, RequestStreams, Sink, Source};
use protomcp_types::{Incoming, Message, ProtocolVersion};
use tokio::sync::Notify;

use super::peer::{Peer, params, quick, stateless};
use super::script::{Part, Script, in_session, json, response, result, stream, text, welcome};

#[tokio::test]
async fn requests_wait_for_the_end_of_the_handshake() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(move |request| match request.method.as_str() {
        "GET" => response(405, "", ""),
        _ if request.body.contains("\"initialize\"") => welcome("2025-11-25"),
        _ if request.body.contains("initialized") => {
            [vec![Part::Wait(Arc::clone(&waiting))], response(202, "", "")].concat()
        }
        _ => json(&result(1, "{}")),
    })
    .await;
    let mut peer = Peer::new(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/list", params("{}")).await;
    peer.notify("notifications/roots/list_changed", params("{}")).await;
    assert_eq!(script.seen(2).await.len(), 2);
    go.notify_one();
    assert_eq!(peer.result(1).await, "{}");
    assert!(script.seen(4).await[1].body.contains("initialized"));
}

#[tokio::test]
async fn notifications_keep_their_order() {
    let script = Script::new(|_| response(202, "", "")).await;
    let mut peer = Peer::new(&script.url());
    for number in 0..200 {
        let params = params(&format!("{{\"progress\":{number}}}"));
        peer.sink.send(Message::notification("notifications/progress", params), None).unwrap();
    }
    assert!(peer.sink.unwritten() > 200 * 20, "bytes");
    peer.flush().await;
    assert_eq!(peer.sink.unwritten(), 0);
    for (number, request) in script.seen(200).await.iter().enumerate() {
        assert!(request.body.contains(&format!("{{\"progress\":{number}}}")), "{}", request.body);
    }
}

#[tokio::test]
async fn more_requests_than_slots_wait() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(move |request| {
        [vec![Part::Wait(Arc::clone(&waiting))], json(&result(request.id(), "{}"))].concat()
    })
    .await;
    let limits = quick().with_max_concurrent_requests(2);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    for id in 0..5 {
        peer.request(id, "tools/list", params("{}")).await;
    }
    let mut answered = Vec::new();
    for count in 0..5 {
        assert_eq!(script.seen((count + 2).min(5)).await.len(), (count + 2).min(5));
        go.notify_one();
        let Message::Response(response) = peer.next().await.0 else { panic!("not an answer") };
        answered.push(response.id.unwrap().to_string());
    }
    answered.sort_unstable();
    assert_eq!(answered, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn closing_a_stream_closes_its_connection() {
    let script = Script::new(|_| vec![stream(), text(": hello\n\n"), Part::UntilClosed]).await;
    let mut peer = Peer::new(&script.url());
    peer.request(1, "tools/call", stateless(r#""name":"a""#)).await;
    script.seen(1).await;
    peer.sink.close_stream(&1.into());
    peer.flush().await;
    script.closed(1).await;
    drop(peer.sink);
    assert!(peer.source.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_request_that_is_closed_before_it_is_sent_is_not_sent() {
    let script = Script::new(|_| json(&result(2, "{}"))).await;
    let mut peer = Peer::new(&script.url());
    peer.sink.send(Message::request(1, "tools/list", params("{}")), None).unwrap();
    peer.sink.close_stream(&1.into());
    peer.request(2, "tools/list", params("{}")).await;
    assert_eq!(peer.result(2).await, "{}");
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn a_cancelled_request_of_a_session_ends_without_an_answer() {
    let script = Script::new(in_session(|request| {
        if request.body.contains("tools/call") {
            vec![stream(), text("id: 1\ndata:\n\n"), Part::UntilClosed]
        } else {
            response(202, "", "")
        }
    }))
    .await;
    let mut peer = Peer::new(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/call", params("{}")).await;
    script.seen(4).await;
    peer.notify("notifications/cancelled", params(r#"{"requestId":1}"#)).await;
    script.closed(1).await;
    let requests = script.seen(5).await;
    assert!(requests[4].body.contains("notifications/cancelled"), "{:?}", requests[4]);
    drop(peer.sink);
    assert!(peer.source.next().await.unwrap().is_none());
}

/// The response to one request brings the answer to another, and is cancelled while the client reads nothing.
#[tokio::test]
async fn an_answer_is_not_lost_with_the_stream_that_carries_it() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(in_session(move |request| {
        if request.body.contains("\"id\":1") {
            let note = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            let notes = (0..64).map(|_| text(&format!("data: {note}\n\n")));
            let answer = text(&format!("data: {}\n\n", result(2, "{}")));
            [vec![stream()], notes.collect(), vec![answer, Part::UntilClosed]].concat()
        } else if request.body.contains("\"id\":2") {
            vec![
                stream(),
                Part::Wait(Arc::clone(&waiting)),
                text(&format!("data: {}\n\n", result(2, "{}"))),
                Part::UntilClosed,
            ]
        } else {
            response(202, "", "")
        }
    }))
    .await;
    let mut peer = Peer::new(&script.url());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(2, "tools/call", params("{}")).await;
    script.seen(4).await;
    peer.request(1, "tools/call", params("{}")).await;
    script.seen(5).await;
    // Long enough that the answer waits behind the notifications; if it is not, the test tests less.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    peer.notify("notifications/cancelled", params(r#"{"requestId":1}"#)).await;
    script.seen(6).await;
    go.notify_one();
    for _ in 0..64 {
        assert!(peer.next_text().await.contains("list_changed"));
    }
    assert_eq!(peer.result(2).await, "{}");
}

#[tokio::test]
async fn a_request_that_waits_for_a_slot_is_withdrawn() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(move |_| [vec![Part::Wait(Arc::clone(&waiting))], json(&result(1, "{}"))].concat()).await;
    let limits = quick().with_max_concurrent_requests(1);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    peer.request(1, "tools/call", params("{}")).await;
    script.seen(1).await;
    peer.request(2, "tools/call", params("{}")).await;
    peer.notify("notifications/cancelled", params(r#"{"requestId":2}"#)).await;
    // Its place in the order shows that the cancellation was handled.
    peer.sink.end_session();
    peer.flush().await;
    go.notify_one();
    assert_eq!(peer.result(1).await, "{}");
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn fields_of_the_client_are_added_to_their_request() {
    let script = Script::new(|request| json(&result(if request.index == 0 { 1 } else { 3 }, "{}"))).await;
    let mut peer = Peer::new(&script.url());
    let field = |name: &str| vec![(name.to_owned(), "eu".to_owned())];
    peer.sink.add_fields(&1.into(), field("Mcp-Param-Region"));
    peer.request(1, "tools/call", stateless(r#""name":"a""#)).await;
    peer.result(1).await;
    peer.sink.add_fields(&2.into(), field("Content-Length"));
    peer.request(2, "tools/call", stateless(r#""name":"a""#)).await;
    assert_eq!(peer.failure(2).await.0, NoAnswer::NotSent);
    peer.sink.send(Message::request(3, "tools/call", stateless(r#""name":"a""#)), None).unwrap();
    peer.sink.add_fields(&3.into(), field("Mcp-Param-Late"));
    peer.flush().await;
    peer.result(3).await;
    let requests = script.requests();
    assert_eq!((requests.len(), requests[0].headers["mcp-param-region"].as_str()), (2, "eu"));
    assert_eq!(requests[0].headers["mcp-name"], "a");
    assert_eq!(requests[1].headers["mcp-param-late"], "eu");
    assert!(!requests[1].headers.contains_key("mcp-param-region"));
}

#[tokio::test]
async fn a_batch_is_one_request() {
    let script = Script::new(|_| response(202, "", "")).await;
    let mut peer = Peer::new(&script.url());
    let answer = |id| Message::result(id, protomcp_types::JsonBuf::empty_object());
    peer.sink.send_batch(vec![answer(1.into()), answer("x".into())]).unwrap();
    peer.flush().await;
    let body = format!("[{},{}]", answer(1.into()).to_text(), answer("x".into()).to_text());
    assert_eq!(script.seen(1).await[0].body, body);
}

#[tokio::test]
async fn a_client_that_reads_nothing_stops_the_server() {
    let note = r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let script =
        Script::new(move |_| vec![stream(), Part::Endless(format!("{note}\n\n"), std::time::Duration::ZERO)]).await;
    let clock = StoppedClock::new();
    let mut peer = Peer::hasty(&script.url());
    peer.request(1, "tools/call", params("{}")).await;
    script.is_held_up().await;
    // Longer than every limit: a queue that is full is not the fault of the server.
    clock.advance(std::time::Duration::from_millis(700)).await;
    for _ in 0..1000 {
        let received = peer.source.next().await.unwrap().unwrap().unwrap();
        assert!(matches!(received, Incoming::One(Message::Notification(_))));
    }
}

#[tokio::test]
async fn pings_handshakes_and_streams_need_no_slot_of_a_call() {
    let script = Script::new(|request| {
        if request.body.contains("tools/call") { vec![Part::UntilClosed] } else { json(&result(request.id(), "{}")) }
    })
    .await;
    let limits = quick().with_max_concurrent_requests(1);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    peer.request(1, "tools/call", params("{}")).await;
    script.seen(1).await;
    for (id, method) in
        [(2, "ping"), (3, "initialize"), (4, "server/discover"), (5, "tasks/cancel"), (6, "subscriptions/listen")]
    {
        peer.request(id, method, stateless(r#""taskId":"t""#)).await;
        assert_eq!(peer.result(id).await, "{}", "{method}");
    }
}

#[tokio::test]
async fn the_turn_of_a_request_is_known() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(move |request| {
        [vec![Part::Wait(Arc::clone(&waiting))], json(&result(request.id(), "{}"))].concat()
    })
    .await;
    let limits = quick().with_max_concurrent_requests(1);
    let mut peer = Peer::with(HttpTransport::new(&script.url()).unwrap().limits(limits));
    let begin = std::time::Instant::now();
    for id in [1, 2] {
        peer.request(id, "tools/call", params("{}")).await;
        script.seen(1).await;
    }
    let later = begin + std::time::Duration::from_secs(3600);
    assert!(peer.sink.turn(&1.into(), later).unwrap() < later);
    assert_eq!(peer.sink.turn(&2.into(), later), Some(later), "it waits");
    go.notify_one();
    peer.result(1).await;
    script.seen(2).await;
    assert!(peer.sink.turn(&2.into(), later).unwrap() < later);
    assert_eq!(peer.sink.turn(&1.into(), later), None, "it is answered");
    go.notify_one();
    peer.result(2).await;
}

#[tokio::test]
async fn requests_do_not_wait_for_messages_without_an_answer() {
    let script = Script::new(|request| {
        if request.body.contains("notifications/") {
            vec![Part::UntilClosed]
        } else {
            json(&result(request.id(), "{}"))
        }
    })
    .await;
    let mut peer = Peer::new(&script.url());
    // More than the transport takes immediately, so `flush` waits.
    for _ in 0..100 {
        peer.sink.send(Message::notification("notifications/progress", params("{}")), None).unwrap();
    }
    peer.sink.send(Message::request(1, "tools/list", params("{}")), None).unwrap();
    let Peer { mut source, mut sink } = peer;
    tokio::select! {
        _ = sink.flush() => panic!("the server accepts nothing"),
        received = in_time(source.next()) => {
            assert!(received.expect("the request was not sent").unwrap().unwrap().is_ok());
        }
    }
}
