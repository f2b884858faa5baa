//! The stream that a client opens with GET.

use std::time::Duration;

use protomcp_http::Config;
use protomcp_server::Audience;
use protomcp_types::{Level, RawJson};

use super::client::{call, done};
use super::handler::Stage;

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[tokio::test]
async fn session_messages_use_the_standalone_stream() {
    let stage = Stage::local().await;
    let (host, other) = (stage.host.hello("2025-11-25").await, stage.host.hello("2025-11-25").await);
    let (mut stream, mut others) = (host.get().await, other.get().await);
    assert_eq!((stream.status, stream.kind()), (200, "text/event-stream"));
    let opening = stream.event().await.unwrap();
    assert_eq!((opening.id.as_deref(), opening.data.as_str()), (Some("0-0"), ""));
    assert_eq!(host.say(&call(1, "change")).await, (200, done(1, "done")));
    assert_eq!(stream.event().await.unwrap().data, CHANGED);
    // The other session gets only notifications that concern every session.
    stage.sessions.log(Audience::Everyone, Level::Error, None, &RawJson::text("all"));
    others.event().await.unwrap();
    for stream in [&mut stream, &mut others] {
        let event = stream.event().await.unwrap();
        assert!(event.data.contains("\"all\""), "{event:?}");
    }
}

#[tokio::test]
async fn clients_of_older_revisions_get_no_event_without_a_message() {
    let stage = Stage::local().await;
    for version in ["2025-03-26", "2025-06-18"] {
        let host = stage.host.hello(version).await;
        let mut stream = host.get().await;
        assert_eq!(host.say(&call(1, "change")).await.0, 200);
        let event = stream.event().await.unwrap();
        assert_eq!((event.id.as_deref(), event.data.as_str()), (Some("0-1"), CHANGED));
    }
}

#[tokio::test]
async fn messages_before_the_client_listens_wait_for_it() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-06-18").await;
    for text in ["one", "two"] {
        stage.sessions.log(Audience::Everyone, Level::Error, None, &RawJson::text(text));
    }
    let mut stream = host.get().await;
    for text in ["one", "two"] {
        assert!(stream.event().await.unwrap().data.contains(text));
    }
}

#[tokio::test]
async fn a_session_has_one_stream_of_this_kind() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let mut stream = host.get().await;
    stream.event().await.unwrap();
    assert_eq!(host.get().await.status, 409);
    drop(stream);
    // The server notices that the connection is gone.
    while host.get().await.status == 409 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_lives() {
    let mut config = Config::default();
    config.streams.keep_alive = Duration::from_millis(2);
    let stage = Stage::new(config).await;
    let host = stage.host.hello("2025-06-18").await;
    let mut stream = host.get().await;
    for _ in 0..3 {
        assert_eq!(stream.raw().await.unwrap(), ": keep-alive\n\n");
    }
}

#[tokio::test]
async fn the_end_of_the_server_ends_the_streams() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let mut stream = host.get().await;
    stream.event().await.unwrap();
    let waiting = host.clone();
    let waiting = tokio::spawn(async move { waiting.say(&call(1, "wait")).await });
    stage.tools.begun().await;
    stage.sessions.shutdown();
    stage.stop.cancel();
    stage.tools.go.notify_one();
    assert_eq!(waiting.await.unwrap(), (200, done(1, "done")));
    assert_eq!(stream.event().await, None);
    stage.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_ends_takes_nothing_new() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    stage.sessions.shutdown();
    let answer = host.post(&call(1, "echo x")).await;
    assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (503, "5"));
    assert_eq!(stage.host.post(&super::client::initialize("2025-11-25", "{}")).await.status, 503);
}

#[tokio::test]
async fn a_client_is_pinged_only_while_it_listens() {
    let limits = protomcp_server::Limits {
        ping_interval: Some(Duration::from_millis(100)),
        ping_timeout: Duration::from_millis(300),
        ..protomcp_server::Limits::default()
    };
    let stage = Stage::with_limits(limits).await;
    let (silent, absent) = (stage.host.hello("2025-11-25").await, stage.host.hello("2025-11-25").await);
    let mut stream = silent.get().await;
    stream.event().await.unwrap();
    let ping = stream.event().await.unwrap();
    assert!(ping.data.contains(r#""method":"ping""#), "{ping:?}");
    let id = ping.data.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).unwrap();
    assert_eq!(silent.say(&format!(r#"{{"id":{id},"result":{{}}}}"#)).await.0, 202);
    // From here on the client is silent, and loses its session.
    assert!(stream.event().await.unwrap().data.contains(r#""method":"ping""#));
    assert_eq!(stream.event().await, None);
    assert_eq!(silent.say(&call(1, "echo x")).await.0, 404);
    assert_eq!(absent.say(&call(1, "echo x")).await, (200, done(1, "x")));
}
