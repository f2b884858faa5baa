//! The transport of MCP 2024-11-05.

use protomcp_http::Config;
use protomcp_testing::until;

use super::client::{Answer, Host, call, call_with_progress, done, full, initialize};
use super::handler::Stage;

/// Opens the connection; the client it returns knows the address for POSTs.
async fn open(stage: &Stage) -> (Answer, Host) {
    let mut stream = stage.host.at("/sse").get().await;
    assert_eq!((stream.status, stream.kind()), (200, "text/event-stream"));
    let endpoint = stream.event().await.unwrap();
    assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
    let query = endpoint.data;
    assert!(query.starts_with("?sessionId="), "{query}");
    (stream, stage.host.at(&format!("/sse{query}")).with("accept", ""))
}

#[tokio::test]
async fn everything_that_the_server_says_comes_by_one_connection() {
    let stage = Stage::new(Config::default().with_legacy_sse()).await;
    let (mut stream, host) = open(&stage).await;
    assert_eq!(host.post(&initialize("2024-11-05", "{}")).await.status, 202);
    assert!(stream.event().await.unwrap().data.contains(r#""protocolVersion":"2024-11-05""#));
    assert_eq!(host.post(r#"{"method":"notifications/initialized"}"#).await.status, 202);
    assert_eq!(host.post(&call_with_progress(1, "count 1")).await.status, 202);
    let progress = stream.event().await.unwrap();
    assert_eq!((progress.name.as_deref(), progress.id), (Some("message"), None));
    assert!(progress.data.contains("notifications/progress"));
    assert_eq!(stream.event().await.unwrap().data, done(1, "done"));
    host.post(&call(2, "ping")).await;
    assert!(stream.event().await.unwrap().data.contains(r#""method":"ping""#));
    host.post(r#"{"id":1,"result":{}}"#).await;
    assert_eq!(stream.event().await.unwrap().data, done(2, "true"));
    host.post(&call(3, "change")).await;
    assert_eq!(stream.event().await.unwrap().data, done(3, "done"));
    assert!(stream.event().await.unwrap().data.contains("list_changed"));
}

#[tokio::test]
async fn the_session_ends_with_its_connection() {
    let stage = Stage::new(Config::default().with_legacy_sse()).await;
    let (stream, host) = open(&stage).await;
    assert_eq!(stage.service.sessions(), 1);
    drop(stream);
    until("the session is closed", || stage.service.sessions() == 0).await;
    assert_eq!(host.post(r#"{"id":1,"method":"ping"}"#).await.status, 404);
}

#[tokio::test]
async fn the_two_transports_do_not_mix() {
    let stage = Stage::new(Config::default().with_legacy_sse()).await;
    let (_stream, host) = open(&stage).await;
    let key = host.path.split_once('=').unwrap().1.to_owned();
    assert_eq!(stage.host.with("mcp-session-id", &key).post(r#"{"id":1,"method":"ping"}"#).await.status, 404);
    let modern = stage.host.hello("2025-11-25").await;
    let key = &modern.headers[0].1;
    assert_eq!(stage.host.at(&format!("/sse?sessionId={key}")).post(r#"{"id":1,"method":"ping"}"#).await.status, 404);
    assert_eq!(host.post("{").await.status, 400);
    assert_eq!(host.post(&format!("[{}]", full(r#"{"id":1,"method":"ping"}"#))).await.status, 400);
}

#[tokio::test]
async fn it_is_off_unless_asked_for() {
    let stage = Stage::local().await;
    assert_eq!(stage.host.at("/sse").get().await.status, 404);
    assert_eq!(stage.host.at("/mcp").get().await.status, 400);
}
