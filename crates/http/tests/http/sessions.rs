//! The life of a session, from the handshake to the end.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use protomcp_http::{Config, Principal};
use protomcp_testing::{in_time, until};

use super::client::{call, done, initialize};
use super::handler::Stage;

#[tokio::test]
async fn a_handshake_mints_a_session_in_each_revision() {
    let stage = Stage::local().await;
    let mut seen = Vec::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let host = stage.host.hello(version).await;
        let key = host.headers[0].1.clone();
        assert!(key.len() >= 32 && key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
        assert!(!seen.contains(&key));
        seen.push(key);
        assert_eq!(host.say(&call(1, "echo x")).await, (200, done(1, "x")));
    }
    assert_eq!(stage.service.sessions(), 4);
}

#[tokio::test]
async fn an_unknown_version_gets_the_newest_with_sessions() {
    let stage = Stage::local().await;
    for version in ["2026-07-28", "1999-01-01"] {
        let (status, text) = stage.host.say(&initialize(version, "{}")).await;
        assert_eq!(status, 200);
        assert!(text.contains(r#""protocolVersion":"2025-11-25""#), "{text}");
    }
}

#[tokio::test]
async fn a_failed_handshake_leaves_no_session_and_a_second_one_works() {
    let stage = Stage::local().await;
    let answer = stage.host.post(r#"{"id":1,"method":"initialize"}"#).await;
    assert_eq!((answer.status, answer.headers.get("mcp-session-id")), (200, None));
    assert!(answer.text().await.contains("-32602"));
    assert_eq!(stage.service.sessions(), 0);
    stage.host.hello("2025-11-25").await;
}

#[tokio::test]
async fn a_second_handshake_in_a_session_is_an_error() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let answer = host.post(&initialize("2025-11-25", "{}")).await;
    assert!(!answer.headers.contains_key("mcp-session-id"));
    assert!(answer.text().await.contains("-32600"));
    assert_eq!(stage.service.sessions(), 1);
}

#[tokio::test]
async fn a_request_needs_the_id_of_its_session() {
    let stage = Stage::local().await;
    let (status, text) = stage.host.say(&call(1, "echo x")).await;
    assert_eq!(status, 400);
    assert!(text.contains("-32600"), "{text}");
    for body in [r#"{"method":"notifications/initialized"}"#, r#"{"id":1,"result":{}}"#] {
        assert_eq!(stage.host.post(body).await.status, 400);
    }
    assert_eq!(stage.host.get().await.status, 400);
    assert_eq!(stage.host.send("DELETE", "").await.status, 400);
    let stranger = stage.host.with("mcp-session-id", "guessed");
    assert_eq!(stranger.post(&call(1, "echo x")).await.status, 404);
    assert_eq!(stranger.get().await.status, 404);
    assert_eq!(stranger.send("DELETE", "").await.status, 404);
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_calls_with_it() {
    let stage = Stage::local().await;
    let (host, other) = (stage.host.hello("2025-11-25").await, stage.host.hello("2025-11-25").await);
    let waiting = host.clone();
    let call = tokio::spawn(async move { waiting.post(&call(1, "wait")).await.status });
    stage.tools.begun().await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();
    assert_eq!(host.send("DELETE", "").await.status, 204);
    for status in [
        host.send("DELETE", "").await.status,
        host.post(r#"{"id":2,"method":"ping"}"#).await.status,
        host.get().await.status,
    ] {
        assert_eq!(status, 404);
    }
    // The call never completes: it is cancelled, and its response reports the end of the session.
    assert_eq!(call.await.unwrap(), 404);
    in_time(stage.tools.has_dropped.notified()).await.expect("the call goes on");
    assert_eq!(listening.event().await, None);
    assert_eq!(other.say(r#"{"id":2,"method":"ping"}"#).await.0, 200);
}

#[tokio::test]
async fn a_session_is_bound_to_the_principal_that_began_it() {
    let stage = Stage::local().await;
    let request = |who: Option<&str>, session: Option<&str>, body: String| {
        let mut request =
            Request::post("http://localhost/mcp").header("content-type", "application/json").header("accept", "*/*");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(who) = who {
            request = request.extension(Principal(Arc::from(who)));
        }
        request.body(axum::body::Body::from(super::client::full(&body))).unwrap()
    };
    let hello = stage.service.handle(request(Some("ann"), None, initialize("2025-11-25", "{}"))).await;
    let session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let ping = || r#"{"id":1,"method":"ping"}"#.to_owned();
    for (who, status) in [(Some("ann"), 200), (Some("bob"), 404), (None, 404)] {
        let answer = stage.service.handle(request(who, Some(&session), ping())).await;
        assert_eq!(answer.status(), status, "{who:?}");
    }
}

#[tokio::test]
async fn a_session_that_is_not_used_is_closed() {
    let mut config = Config::default();
    config.limits.session_idle = Duration::from_millis(500);
    let stage = Stage::new(config).await;
    let idle = stage.host.hello("2025-11-25").await;
    let listening = stage.host.hello("2025-11-25").await;
    let mut stream = listening.get().await;
    stream.event().await.unwrap();
    until("the session is closed", || stage.service.sessions() <= 1).await;
    assert_eq!(idle.post(r#"{"id":1,"method":"ping"}"#).await.status, 404);
    assert_eq!(listening.post(r#"{"id":1,"method":"ping"}"#).await.status, 200);
}

#[tokio::test]
async fn the_service_can_be_mounted_among_other_pages() {
    let stage = Stage::local().await;
    let app = axum::Router::new()
        .route("/", axum::routing::get(|| async { "front page" }))
        .nest_service("/api/tools", stage.service.clone());
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = super::client::Host::new(socket.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(socket, app).await });
    assert_eq!(host.at("/").send("GET", "").await.text().await, "front page");
    let session = host.at("/api/tools").hello("2025-11-25").await;
    assert_eq!(session.say(&call(1, "echo mounted")).await, (200, done(1, "mounted")));
    let events = session.post(&call(2, "log x")).await.events().await;
    assert_eq!(events.last().unwrap().data, done(2, "done"));
    serving.abort();
}
