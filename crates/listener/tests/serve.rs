//! A plain tower service on a listener, which knows nothing of MCP.

use std::convert::Infallible;
use std::future::{IntoFuture, Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use protomcp_listener::{ConnectionInfo, Listener, ListenerConfig};
use protomcp_testing::in_time;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

const REQUEST: &[u8] = b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Responds with the address of the peer, after a pause at `/slow`.
#[derive(Clone, Default)]
struct Echo(Arc<Gate>);

#[derive(Default)]
struct Gate {
    has_begun: Notify,
    go: Notify,
}

impl Service<Request<Incoming>> for Echo {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<String>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let gate = Arc::clone(&self.0);
        Box::pin(async move {
            if request.uri().path() == "/slow" {
                gate.has_begun.notify_one();
                gate.go.notified().await;
            }
            let info = request.extensions().get::<ConnectionInfo>().unwrap();
            Ok(Response::new(info.peer.to_string()))
        })
    }
}

/// A running server.
struct Server {
    address: SocketAddr,
    gate: Arc<Gate>,
    stop: CancellationToken,
    task: JoinHandle<io::Result<()>>,
}

async fn start(config: ListenerConfig) -> Server {
    let (service, stop) = (Echo::default(), CancellationToken::new());
    let gate = Arc::clone(&service.0);
    let listener = Listener::bind("127.0.0.1:0").await.unwrap().with_config(config);
    let address = listener.local_addr().unwrap();
    let serving = listener.serve(service).with_graceful_shutdown(stop.clone().cancelled_owned());
    Server { address, gate, stop, task: tokio::spawn(serving.into_future()) }
}

async fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await.expect("no response").unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    let peer = stream.local_addr().unwrap().to_string();
    assert!(text.ends_with(&peer), "{text} for {peer}");
    text
}

#[tokio::test]
async fn after_the_shutdown_signal_only_open_requests_finish() {
    let Server { address, gate, stop, task } = start(ListenerConfig::default()).await;
    get(address).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    in_time(gate.has_begun.notified()).await.expect("the request does not begin");
    stop.cancel();
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    in_time(refused).await.expect("the socket stays open");
    assert!(!task.is_finished());
    gate.go.notify_one();
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await.expect("no response").unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    in_time(task).await.expect("the server does not end").unwrap().unwrap();
}

#[tokio::test]
async fn unfinished_requests_are_closed_after_the_drain_timeout() {
    let config = ListenerConfig::default().with_drain_timeout(Duration::from_millis(20));
    let Server { address, gate, stop, task } = start(config).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    in_time(gate.has_begun.notified()).await.expect("the request does not begin");
    stop.cancel();
    in_time(task).await.expect("the server does not end").unwrap().unwrap();
    assert!(!matches!(stream.read(&mut [0]).await, Ok(1..)), "the response never came");
}

#[tokio::test]
async fn times_of_any_length_are_usable() {
    let config = ListenerConfig::default()
        .with_first_request_timeout(Duration::MAX)
        .with_idle_timeout(Duration::MAX)
        .with_write_timeout(Duration::MAX)
        .with_drain_timeout(Duration::MAX);
    let Server { address, stop, task, .. } = start(config).await;
    get(address).await;
    stop.cancel();
    in_time(task).await.expect("the server does not end").unwrap().unwrap();
}

#[tokio::test]
async fn several_sockets_are_served_and_share_one_limit() {
    let sockets = [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
    let addresses = sockets.each_ref().map(|socket| socket.local_addr().unwrap());
    let config = ListenerConfig::default().with_max_connections(1);
    let listener = Listener::from_sockets(sockets).with_config(config);
    let service = Echo::default();
    let gate = Arc::clone(&service.0);
    tokio::spawn(listener.serve(service).into_future());
    for address in addresses {
        get(address).await;
    }
    let mut busy = TcpStream::connect(addresses[0]).await.unwrap();
    busy.write_all(REQUEST).await.unwrap();
    in_time(gate.has_begun.notified()).await.expect("the request does not begin");
    let mut refused = TcpStream::connect(addresses[1]).await.unwrap();
    let end = in_time(refused.read(&mut [0])).await.expect("the connection stays open");
    assert!(!matches!(end, Ok(1..)), "{end:?}");
}

/// Is never ready.
#[derive(Clone)]
struct Broken;

impl Service<Request<Incoming>> for Broken {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<String>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::Error::other("broken")))
    }

    fn call(&mut self, _: Request<Incoming>) -> Self::Future {
        ready(Err(io::Error::other("called although it is not ready")))
    }
}

#[tokio::test]
async fn an_error_of_the_service_closes_the_connection() {
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(listener.serve(Broken).into_future());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let end = in_time(stream.read(&mut [0])).await.expect("the connection stays open");
    assert!(!matches!(end, Ok(1..)), "{end:?}");
}
