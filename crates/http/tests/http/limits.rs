//! Limits on requests, sessions and connections.

use std::sync::Arc;
use std::time::Duration;

use protomcp_http::{Config, ListenerConfig};
use protomcp_server::Audience;
use protomcp_testing::in_time;
use protomcp_types::{Level, RawJson};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{call, full, initialize};
use super::handler::Stage;

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let mut config = Config::default();
    config.limits.max_body = 1000;
    let stage = Stage::new(config).await;
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(1000));
    assert_eq!(stage.host.post(&long).await.status, 413);
    // The same holds for a body without a length.
    let mut stream = TcpStream::connect(stage.host.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(format!("190\r\n{}\r\n", "x".repeat(400)).as_bytes()).await.unwrap();
    }
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn headers_that_are_too_many_or_too_long_are_refused() {
    let stage = Stage::local().await;
    let ping = full(r#"{"id":1,"method":"ping"}"#);
    // A request of ours has five headers itself, and no session.
    for (count, length, status) in [(95, 1, 400), (96, 1, 431), (1, 60 * 1024, 400), (1, 64 * 1024, 431)] {
        let value = "x".repeat(length);
        let host = (0..count).fold(stage.host.clone(), |host, number| host.with(&format!("x-{number}"), &value));
        assert_eq!(host.send("POST", &ping).await.status, status, "{count} headers of {length} bytes");
    }
}

#[tokio::test]
async fn json_that_is_nested_too_deep_is_an_error() {
    let stage = Stage::local().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let (status, text) = stage.host.say(&deep).await;
    assert_eq!(status, 400);
    assert!(text.contains("error"), "{text}");
}

#[tokio::test]
async fn sessions_are_limited() {
    let mut config = Config::default();
    config.limits.max_sessions = 2;
    let stage = Stage::new(config).await;
    let host = stage.host.hello("2025-11-25").await;
    stage.host.hello("2025-11-25").await;
    let refused = stage.host.post(&initialize("2025-11-25", "{}")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "5"));
    host.send("DELETE", "").await;
    stage.host.hello("2025-11-25").await;
}

#[tokio::test]
async fn open_responses_of_a_session_are_limited() {
    let mut config = Config::default();
    config.limits.max_streams = 1;
    let stage = Stage::new(config).await;
    let host = stage.host.hello("2025-11-25").await;
    let waiting = host.clone();
    let waiting = tokio::spawn(async move { waiting.say(&call(1, "wait")).await });
    stage.tools.begun().await;
    assert_eq!(host.post(&call(2, "echo x")).await.status, 503);
    stage.tools.go.notify_one();
    assert_eq!(waiting.await.unwrap().0, 200);
    assert_eq!(host.post(&call(2, "echo x")).await.status, 200);
}

#[tokio::test]
async fn an_unread_stream_is_bounded_and_keeps_the_newest() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-06-18").await;
    for number in 0..5000 {
        stage.sessions.log(Audience::Everyone, Level::Error, None, &RawJson::text(&format!("n{number}.")));
        if number % 100 == 0 {
            // The session's task runs in between.
            assert_eq!(host.say(r#"{"id":1,"method":"ping"}"#).await.0, 200);
        }
    }
    assert_eq!(host.say(r#"{"id":1,"method":"ping"}"#).await.0, 200);
    let mut stream = host.get().await;
    let mut count = 0;
    loop {
        let event = stream.event().await.unwrap();
        count += 1;
        if event.data.contains("n4999.") {
            break;
        }
    }
    assert!(count <= 256, "{count}");
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let listener = ListenerConfig::default().with_first_request_timeout(Duration::from_millis(20));
    let stage = Stage::with(Config::default(), listener).await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    // Also after the preface and empty settings, which are all that HTTP/2 requires of a client.
    let settings = format!("{preface}\0\0\0\u{4}\0\0\0\0\0");
    for start in ["", "POST /mcp HTT", "P", "PRI * HTTP/2.0", preface, &settings] {
        let mut stream = TcpStream::connect(stage.host.address).await.unwrap();
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut end = Vec::new();
        let read = in_time(stream.read_to_end(&mut end)).await;
        assert!(read.is_ok(), "{start:?} stays open");
    }
}

#[tokio::test]
async fn hundreds_of_concurrent_requests_are_all_answered() {
    let stage = Stage::local().await;
    let host = Arc::new(stage.host.hello("2025-11-25").await);
    let calls: Vec<_> = (0..300u64)
        .map(|id| {
            let host = Arc::clone(&host);
            tokio::spawn(async move { host.say(&call(id, &format!("echo {id}"))).await })
        })
        .collect();
    for (id, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), (200, super::client::done(id as u64, &id.to_string())));
    }
    assert!(full("").is_empty());
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let mut config = Config::default();
    config.limits.body_timeout = Duration::from_millis(20);
    let stage = Stage::new(config).await;
    let mut stream = TcpStream::connect(stage.host.address).await.unwrap();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n\
                content-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    let read = in_time(stream.read_exact(&mut answer)).await;
    read.expect("the server waits").unwrap();
    assert_eq!(answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_is_not_waited_for_either() {
    let mut config = Config::default();
    config.limits.body_timeout = Duration::from_millis(200);
    let stage = Stage::new(config).await;
    let stream = TcpStream::connect(stage.host.address).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n\
                content-length: 100000\r\n\r\n";
    writing.write_all(head.as_bytes()).await.unwrap();
    let trickling = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let mut answer = vec![0; 12];
    let read = in_time(reading.read_exact(&mut answer)).await;
    read.expect("the server waits").unwrap();
    assert_eq!(answer, b"HTTP/1.1 408");
    assert_eq!(stage.sessions.inbound_budget().taken(), 0);
    trickling.abort();
}

#[tokio::test]
async fn a_connection_that_does_not_end_with_its_listener_is_cut() {
    let listener = ListenerConfig::default().with_drain_timeout(Duration::from_millis(20));
    let stage = Stage::with(Config::default(), listener).await;
    let host = stage.host.hello("2025-11-25").await;
    let mut stream = host.get().await;
    assert!(stream.event().await.is_some());
    stage.stop.cancel();
    let serving = in_time(stage.serving).await;
    serving.expect("the listener waits").unwrap().unwrap();
    // Comments that keep a stream alive would keep the client waiting, too.
    let end = in_time(stream.event()).await;
    assert_eq!(end.expect("the connection is cut"), None);
    assert_eq!(stage.service.sessions(), 1);
}
