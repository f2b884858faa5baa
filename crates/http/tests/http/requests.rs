//! The response to a POST.

use std::sync::atomic::Ordering;

use protomcp_http::Config;
use std::time::Duration;

use super::client::{call, call_with_progress, done, full};
use super::handler::Stage;

#[tokio::test]
async fn answers_alone_are_json() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let answer = host.post(&call(1, "echo hi")).await;
    assert_eq!((answer.status, answer.kind()), (200, "application/json"));
    assert_eq!(answer.text().await, done(1, "hi"));
    let (status, text) = host.say(&call(2, "absent")).await;
    assert_eq!(status, 200);
    assert!(text.contains("-32602"), "{text}");
    assert_eq!(host.say(r#"{"id":"p","method":"ping"}"#).await.1, full(r#"{"id":"p","result":{}}"#));
}

#[tokio::test]
async fn a_big_answer_arrives_whole() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    assert_eq!(host.say(&call(1, "big 3000000")).await, (200, done(1, &"x".repeat(3_000_000))));
}

#[tokio::test]
async fn a_message_before_the_answer_makes_it_a_stream() {
    let stage = Stage::local().await;
    for (version, opens) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let host = stage.host.hello(version).await;
        let answer = host.post(&call_with_progress(1, "count 2")).await;
        assert_eq!((answer.status, answer.kind()), (200, "text/event-stream"));
        assert_eq!(answer.headers["x-accel-buffering"], "no");
        let mut events = answer.events().await;
        if opens {
            let opening = events.remove(0);
            assert_eq!((opening.id.as_deref(), opening.data.as_str()), (Some("2-0"), ""));
            assert_eq!(opening.retry.as_deref(), Some("500"));
        }
        let ids: Vec<_> = events.iter().map(|event| event.id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["2-1", "2-2", "2-3"]);
        assert!(events.iter().all(|event| event.name.as_deref() == Some("message")));
        assert!(events[0].data.contains(r#""progressToken":"t1","progress":1"#), "{:?}", events[0]);
        assert_eq!(events[2].data, done(1, "done"));
    }
}

#[tokio::test]
async fn log_messages_of_a_call_leave_by_its_stream() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-06-18").await;
    let events = host.post(&call(1, "log hm")).await.events().await;
    assert!(events[0].data.contains("notifications/message") && events[0].data.contains("hm"));
    assert_eq!(events[1].data, done(1, "done"));
}

#[tokio::test]
async fn concurrent_requests_are_answered_independently() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let slow = host.clone();
    let slow = tokio::spawn(async move { slow.say(&call(1, "wait")).await });
    stage.tools.begun().await;
    for id in 2..5 {
        assert_eq!(host.say(&call(id, "echo quick")).await.1, done(id, "quick"));
    }
    stage.tools.go.notify_one();
    assert_eq!(slow.await.unwrap().1, done(1, "done"));
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_its_request_goes_on() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let first = host.clone();
    let first = tokio::spawn(async move { first.say(&call(7, "wait")).await });
    stage.tools.begun().await;
    let (status, text) = host.say(&call(7, "echo x")).await;
    assert_eq!(status, 400);
    assert!(text.contains("-32600") && text.contains("\"id\":7"), "{text}");
    stage.tools.go.notify_one();
    assert_eq!(first.await.unwrap(), (200, done(7, "done")));
    assert_eq!(host.say(&call(7, "echo x")).await, (200, done(7, "x")));
}

#[tokio::test]
async fn a_question_travels_on_the_stream_of_the_call_that_asks() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-06-18").await;
    let mut answer = host.post(&call(1, "ping")).await;
    let question = answer.event().await.unwrap().data;
    assert!(question.contains(r#""method":"ping""#), "{question}");
    assert_eq!(host.say(r#"{"id":1,"result":{}}"#).await, (202, String::new()));
    assert_eq!(answer.event().await.unwrap().data, done(1, "true"));
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn notifications_and_answers_are_taken_without_a_body() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    for body in [
        r#"{"method":"notifications/roots/list_changed"}"#,
        r#"{"method":"notifications/unheard-of"}"#,
        r#"{"id":99,"result":{}}"#,
        r#"{"id":99,"error":{"code":1,"message":"no"}}"#,
        r#"{"method":"ping"}"#,
    ] {
        assert_eq!(host.say(body).await, (202, String::new()), "{body}");
    }
}

#[tokio::test]
async fn a_cancelled_request_ends_its_response_without_an_answer() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let waiting = host.clone();
    let waiting = tokio::spawn(async move { waiting.say(&call(1, "wait")).await });
    stage.tools.begun().await;
    host.say(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    assert_eq!(waiting.await.unwrap(), (200, String::new()));
}

#[tokio::test]
async fn a_connection_that_breaks_cancels_nothing() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let gone = host.clone();
    let gone = tokio::spawn(async move { gone.say(&call(1, "wait")).await });
    stage.tools.begun().await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    // The session is alive, and the call completes.
    assert_eq!(host.say(r#"{"id":2,"method":"ping"}"#).await.0, 200);
    stage.tools.go.notify_one();
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(host.say(cancel).await.0, 202);
    assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_answer_that_takes_long_becomes_a_stream() {
    let mut config = Config::default();
    config.streams.stream_after = Duration::from_millis(1);
    config.streams.keep_alive = Duration::from_millis(1);
    let stage = Stage::new(config).await;
    let host = stage.host.hello("2025-06-18").await;
    let mut answer = host.post(&call(1, "wait")).await;
    assert_eq!(answer.kind(), "text/event-stream");
    stage.tools.go.notify_one();
    assert_eq!(answer.event().await.unwrap().data, done(1, "done"));
}

#[tokio::test]
async fn an_invalid_request_gets_the_matching_status() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let ping = full(r#"{"id":1,"method":"ping"}"#);
    for (host, method, body, status, part) in [
        (host.with("accept", "application/json"), "POST", ping.as_str(), 406, "Accept"),
        (host.with("accept", "text/event-stream"), "POST", &ping, 406, "Accept"),
        (host.with("accept", ""), "POST", &ping, 406, "Accept"),
        (host.with("accept", "*/*"), "POST", &ping, 200, "result"),
        (host.with("accept", "application/json"), "GET", "", 406, "Accept"),
        (host.with("content-type", "text/plain"), "POST", &ping, 415, "Content-Type"),
        (host.with("content-type", ""), "POST", &ping, 415, "Content-Type"),
        (host.with("content-type", "application/json; charset=utf-8"), "POST", &ping, 200, "result"),
        (host.clone(), "PUT", "", 405, "method"),
        (host.clone(), "OPTIONS", "", 405, "method"),
        (host.clone(), "POST", "{", 400, "-32700"),
        (host.clone(), "POST", "", 400, "-32700"),
        (host.clone(), "POST", "[]", 400, "-32600"),
        (host.clone(), "POST", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, "-32600"),
        (host.clone(), "POST", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, 400, "-32600"),
        (host.clone(), "POST", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, "-32600"),
        (host.with("mcp-protocol-version", "2024-11-05"), "POST", &ping, 200, "result"),
        (host.with("mcp-protocol-version", ""), "POST", &ping, 200, "result"),
        (host.with("mcp-protocol-version", "1999-01-01"), "POST", &ping, 400, "error"),
        (host.with("mcp-protocol-version", "1999-01-01"), "GET", "", 400, "error"),
        (host.at("/elsewhere"), "POST", &ping, 404, "/mcp"),
        (host.at("/"), "POST", &ping, 200, "result"),
    ] {
        let answer = host.send(method, body).await;
        let found = answer.status;
        let text = answer.text().await;
        assert_eq!(found, status, "{method} {body} {:?}: {text}", host.headers.last());
        assert!(text.contains(part), "{text}");
    }
}
