//! HTTP/2: many requests on one connection.

use axum::body::{Body, to_bytes};
use http::Request;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use protomcp_http::{Config, ListenerConfig};
use protomcp_testing::in_time;
use tokio::net::TcpStream;

use super::client::{call, done, full};
use super::eras::tool;
use super::handler::Stage;

/// A connection, and the task that drives it.
async fn watched(stage: &Stage) -> (SendRequest<Body>, tokio::task::JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(stage.host.address).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(connection))
}

async fn connect(stage: &Stage) -> SendRequest<Body> {
    watched(stage).await.0
}

fn post(stage: &Stage, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let request = Request::post(format!("http://{}/mcp", stage.host.address))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(full(body))).unwrap()
}

#[tokio::test]
async fn requests_on_one_connection_are_answered_independently() {
    let stage = Stage::local().await;
    let session = stage.host.hello("2025-11-25").await.headers[0].1.clone();
    let headers = [("mcp-session-id", session.as_str())];
    let mut sender = connect(&stage).await;
    let slow = sender.send_request(post(&stage, &headers, &call(1, "wait")));
    let slow = tokio::spawn(slow);
    stage.tools.begun().await;
    for id in 2..20 {
        let answer = sender.send_request(post(&stage, &headers, &call(id, "echo quick"))).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(to_bytes(Body::new(answer.into_body()), 10_000).await.unwrap(), done(id, "quick"));
    }
    stage.tools.go.notify_one();
    let answer = slow.await.unwrap().unwrap();
    assert_eq!(to_bytes(Body::new(answer.into_body()), 10_000).await.unwrap(), done(1, "done"));
}

#[tokio::test]
async fn a_stream_that_is_reset_cancels_its_request_and_no_other() {
    let stage = Stage::local().await;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "wait")];
    let mut sender = connect(&stage).await;
    let gone = tokio::spawn(sender.send_request(post(&stage, &headers, &tool("wait", ""))));
    stage.tools.begun().await;
    gone.abort();
    in_time(stage.tools.has_dropped.notified()).await.expect("the call goes on");
    stage.tools.go.notify_one();
    let answer = sender.send_request(post(&stage, &headers, &tool("wait", ""))).await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn the_name_in_the_request_line_counts() {
    let stage = Stage::local().await;
    let mut sender = connect(&stage).await;
    let request = Request::post("http://evil.example.com/mcp").body(Body::from("{}")).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 403);
}

#[tokio::test]
async fn only_an_idle_connection_is_closed() {
    let listener = ListenerConfig::default().with_idle_timeout(std::time::Duration::from_millis(100));
    let stage = Stage::with(Config::default(), listener).await;
    let session = stage.host.hello("2025-11-25").await.headers[0].1.clone();
    let headers = [("mcp-session-id", session.as_str())];
    let mut attempts = 1..;
    let (sender, connection, slow) = loop {
        assert!(attempts.next() < Some(100), "it closes connections that it has just accepted");
        let (mut sender, mut connection) = watched(&stage).await;
        let slow = tokio::spawn(sender.send_request(post(&stage, &headers, &call(1, "wait"))));
        tokio::select! {
            biased;
            () = stage.tools.begun() => break (sender, connection, slow),
            // On a busy machine it may be idle for that long before its first request.
            _ = &mut connection => {}
        }
    };
    // Another one, which is idle from now on, is closed.
    let (_idle, end) = watched(&stage).await;
    drop(in_time(end).await.expect("an idle connection stays open"));
    assert!(!connection.is_finished(), "a connection ended under a request");
    stage.tools.go.notify_one();
    let answer = slow.await.unwrap().unwrap();
    assert_eq!(to_bytes(Body::new(answer.into_body()), 10_000).await.unwrap(), done(1, "done"));
    let end = in_time(connection).await.expect("the connection stays open");
    assert!(end.unwrap().is_ok(), "it ends politely");
    drop(sender);
}
