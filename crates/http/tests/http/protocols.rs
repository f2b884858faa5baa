//! Another protocol on the port of Streamable HTTP: it passes the same checks, streams both ways, and continues on
//! upgraded connections.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use protomcp_http::{
    Admission, Body, BoxBody, Config, Credential, ListenerConfig, Protocol, Responding, Routes, UpgradeLease,
};
use protomcp_testing::in_time;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::client::{Host, initialize};
use super::handler::Stage;
use super::oauth;

/// Sends back the bytes that it gets: the bytes of a body of the type `application/echo`, or of an upgraded connection.
struct Echo;

const ECHO: &str = "application/echo";

impl Protocol for Echo {
    fn is_meant(&self, head: &Parts) -> bool {
        let is = |name: header::HeaderName, value| head.headers.get(name).is_some_and(|found| found == value);
        is(header::CONTENT_TYPE, ECHO) || is(header::UPGRADE, "echo")
    }

    fn respond(&self, request: Request<BoxBody>) -> Responding {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let admission = head.extensions.get::<Admission>().unwrap().clone();
            if head.headers.contains_key(header::UPGRADE) {
                return upgrade(head, admission);
            }
            let scopes = match admission.authorize(&head, "tools/call", Some("echo deploy")) {
                Ok(()) => "may deploy".to_owned(),
                Err(rejection) => rejection.why.to_string(),
            };
            let mut response = Response::new(Body::new(body));
            let peer = format!("{:?}, {scopes}", admission.peer());
            response.headers_mut().insert("x-peer", HeaderValue::from_str(&peer).unwrap());
            response
        })
    }

    fn refuse(&self, mut refusal: Response<Body>, reason: &str) -> Response<Body> {
        refusal.headers_mut().insert("x-reason", HeaderValue::from_str(reason).unwrap());
        refusal
    }
}

fn upgrade(mut head: Parts, admission: Admission) -> Response<Body> {
    let lease = head.extensions.get::<UpgradeLease>().unwrap().clone();
    let upgraded = hyper::upgrade::on(Request::from_parts(head.clone(), ()));
    head.extensions.clear();
    tokio::spawn(async move {
        let (mut reader, mut writer) = tokio::io::split(TokioIo::new(upgraded.await.unwrap()));
        tokio::select! {
            _ = tokio::io::copy(&mut reader, &mut writer) => {}
            () = lease.closed() => {}
        }
        drop(admission);
    });
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("echo"));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    response
}

async fn stage(config: Config) -> Stage {
    Stage::with_routes(config, ListenerConfig::default(), |service, _| Routes::new(service).with_protocol(Echo)).await
}

/// A body that a test sends piece by piece.
struct Pieces(mpsc::Receiver<Frame<Bytes>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}

async fn connect(stage: &Stage) -> SendRequest<Pieces> {
    let stream = TcpStream::connect(stage.host.address).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn next(body: &mut Incoming) -> Frame<Bytes> {
    let frame = in_time(poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))).await.expect("no piece comes");
    frame.expect("the body is over").unwrap()
}

fn echo(host: &Host) -> Host {
    host.with("content-type", ECHO).at("/any/path")
}

#[tokio::test]
async fn bodies_and_trailers_stream_both_ways() {
    let stage = stage(Config::default()).await;
    let (pieces, body) = mpsc::channel(1);
    let request = Request::post(format!("http://{}/any/path", stage.host.address)).header("content-type", ECHO);
    let mut answer = connect(&stage).await.send_request(request.body(Pieces(body)).unwrap()).await.unwrap();
    for piece in ["one", "two"] {
        // The first piece comes back before the second is sent.
        pieces.send(Frame::data(Bytes::from(piece))).await.unwrap();
        assert_eq!(next(answer.body_mut()).await.into_data().unwrap(), piece);
    }
    let trailers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("3"))]);
    pieces.send(Frame::trailers(trailers.clone())).await.unwrap();
    drop(pieces);
    assert_eq!(next(answer.body_mut()).await.into_trailers().unwrap(), trailers);
    // Everything else is Streamable HTTP.
    assert_eq!(stage.host.post(&initialize("2025-11-25", "{}")).await.status, 200);
    assert_eq!(stage.host.at("/any/path").post("{}").await.status, 404);
}

#[tokio::test]
async fn an_unread_response_does_not_hold_the_server() {
    let stage = stage(Config::default()).await;
    let stream = TcpStream::connect(stage.host.address).await.unwrap();
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let (pieces, body) = mpsc::channel(1);
    pieces.try_send(Frame::data(Bytes::from("unread"))).unwrap();
    drop(pieces);
    let request = Request::post(format!("http://{}/any/path", stage.host.address)).header("content-type", ECHO);
    let answer = sender.send_request(request.body(Pieces(body)).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    stage.sessions.shutdown();
    in_time(stage.service.drained()).await.expect("the response is waited for");
    drop(answer);
}

#[tokio::test]
async fn a_request_of_another_protocol_passes_the_same_checks() {
    let app = "https://app.example.com";
    let stage = stage(Config::default().require(Credential::token("t")).allow_origin(app)).await;
    let host = echo(&stage.host);
    for (name, value, status, reason) in [
        ("host", "evil.example.com", 403, "host \"evil.example.com\" is not allowed"),
        ("origin", "http://evil.example.com", 403, "origin \"http://evil.example.com\" is not allowed"),
        ("authorization", "", 401, "unauthorized"),
        ("authorization", "Bearer wrong", 401, "unauthorized"),
    ] {
        let answer = host.with(name, value).post("x").await;
        assert_eq!(answer.status, status, "{name} {value}");
        assert!(answer.headers["x-reason"].starts_with(reason), "{}", answer.headers["x-reason"]);
        assert_eq!(answer.headers.contains_key("www-authenticate"), status == 401);
    }
    let host = host.with("authorization", "Bearer t");
    let answer = host.with("origin", app).post("x").await;
    assert_eq!((answer.status, answer.headers["access-control-allow-origin"].as_str()), (200, app));
    assert!(answer.headers["x-peer"].contains("owner: Address(127.0.0.1)"), "{}", answer.headers["x-peer"]);
    stage.sessions.shutdown();
    let answer = host.post("x").await;
    assert_eq!((answer.status, answer.headers["x-reason"].as_str()), (503, "the server is shutting down"));
    assert_eq!(answer.headers["retry-after"], "5");
}

#[tokio::test]
async fn a_protocol_knows_the_bearer_and_the_scopes_of_a_token() {
    let stage = stage(oauth::config()).await;
    let host = echo(&stage.host);
    assert_eq!(host.post("x").await.status, 401);
    for (token, may) in [("ann.use", false), ("ann.use.deploy", true)] {
        let answer = oauth::bearer(&host, token).post("x").await;
        let peer = &answer.headers["x-peer"];
        assert!(answer.status == 200 && peer.contains("ann"), "{peer}");
        assert_eq!(peer.ends_with(", may deploy"), may, "{peer}");
    }
}

#[tokio::test]
async fn a_server_may_serve_other_protocols_only() {
    let stage = Stage::with_routes(Config::default(), ListenerConfig::default(), |service, readiness| {
        Routes::new(service).with_protocol(Echo).with_health(readiness).without_mcp()
    })
    .await;
    for path in ["/", "/mcp", "/sse", "/other"] {
        assert_eq!(stage.host.at(path).post(&initialize("2025-11-25", "{}")).await.status, 404, "{path}");
    }
    assert_eq!(stage.host.at("/healthz").get().await.status, 200);
    assert_eq!(echo(&stage.host).post("x").await.status, 200);
}

/// An upgraded connection that has echoed once.
async fn upgraded(stage: &Stage) -> TcpStream {
    let mut stream = TcpStream::connect(stage.host.address).await.unwrap();
    let head = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(in_time(stream.read_u8()).await.unwrap().unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&answer));
    repeat(&mut stream).await;
    stream
}

async fn repeat(stream: &mut TcpStream) {
    stream.write_all(b"again").await.unwrap();
    let mut back = [0; 5];
    in_time(stream.read_exact(&mut back)).await.expect("no echo").unwrap();
    assert_eq!(&back, b"again");
}

/// Waits for the end of a connection.
async fn ended(mut stream: TcpStream) {
    let end = in_time(stream.read_u8()).await.expect("the connection stays open");
    assert!(end.is_err(), "{end:?}");
}

#[tokio::test]
async fn an_upgraded_connection_keeps_its_slot_and_the_server() {
    let listener = ListenerConfig::default().with_max_connections(1).with_idle_timeout(Duration::from_millis(50));
    let stage =
        Stage::with_routes(Config::default(), listener, |service, _| Routes::new(service).with_protocol(Echo)).await;
    let mut stream = upgraded(&stage).await;
    // The slot of the same address is busy.
    ended(TcpStream::connect(stage.host.address).await.unwrap()).await;
    repeat(&mut stream).await;
    stage.sessions.shutdown();
    let mut drained = std::pin::pin!(stage.service.drained());
    assert!(timeout(Duration::from_millis(50), &mut drained).await.is_err(), "the connection is in use");
    repeat(&mut stream).await;
    drop(stream);
    in_time(drained).await.expect("the connection has ended");
}

#[tokio::test]
async fn an_upgraded_connection_ends_with_the_drain_timeout() {
    let listener = ListenerConfig::default().with_drain_timeout(Duration::from_millis(50));
    let stage =
        Stage::with_routes(Config::default(), listener, |service, _| Routes::new(service).with_protocol(Echo)).await;
    let stream = upgraded(&stage).await;
    stage.stop.cancel();
    ended(stream).await;
    in_time(stage.serving).await.expect("the listener has ended").unwrap().unwrap();
}
