//! Clients that send and read nothing: their connections end, whatever they send.

use std::convert::Infallible;
use std::future::{IntoFuture, Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use protomcp_listener::{ConnectionInfo, Listener, ListenerConfig, Stream, StreamService};
use protomcp_testing::in_time;
use tokio::io::{AsyncWriteExt, copy, split};
use tokio::net::TcpSocket;
use tower_service::Service;

/// The time for a client to take a byte.
const SOON: Duration = Duration::from_millis(100);

/// The beginning of HTTP/2 (RFC 9113, section 3.4), with settings that change nothing.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Answers immediately, and counts the requests.
#[derive(Clone, Default)]
struct Hello(Arc<AtomicUsize>);

impl Service<Request<Incoming>> for Hello {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Incoming>) -> Self::Future {
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Response::new("hello".to_owned())))
    }
}

/// Returns all bytes.
#[derive(Clone)]
struct Echo;

impl StreamService for Echo {
    async fn serve(self, stream: Stream, _: ConnectionInfo) {
        let (mut reader, mut writer) = split(stream);
        drop(copy(&mut reader, &mut writer).await);
    }
}

/// A listener whose only limit is the one on clients that do not read. Its connections have its buffers, which are small
/// and soon full.
fn listen(write_timeout: Duration) -> (Listener, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4096).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let socket = socket.listen(16).unwrap();
    let address = socket.local_addr().unwrap();
    let hour = Duration::from_secs(3600);
    let config = ListenerConfig::default()
        .with_write_timeout(write_timeout)
        .with_first_request_timeout(hour)
        .with_idle_timeout(hour);
    (Listener::from_sockets([socket]).with_config(config), address)
}

/// Sends bytes, and then the bytes of each number, until the connection ends.
async fn flood(address: SocketAddr, first: &[u8], next: impl Fn(u32) -> Vec<u8>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(first).await.unwrap();
    let sending = async {
        let mut number = 0;
        while stream.write_all(&next(number)).await.is_ok() {
            number += 1;
        }
    };
    in_time(sending).await.expect("the connection stays open");
}

#[tokio::test]
async fn frames_of_http_2_that_need_an_answer() {
    let (listener, address) = listen(SOON);
    tokio::spawn(listener.serve(Hello::default()).into_future());
    // RFC 9113, sections 6.7 and 6.5.
    let ping = b"\0\0\x08\x06\0\0\0\0\0unread!!";
    let settings = b"\0\0\0\x04\0\0\0\0\0";
    flood(address, PREFACE, |_| ping.repeat(1000)).await;
    flood(address, PREFACE, |_| settings.repeat(1000)).await;
    // The head of a request without a path, which resets its stream (sections 6.2 and 8.3.1).
    flood(address, PREFACE, |number| [&b"\0\0\x01\x01\x05"[..], &(2 * number + 1).to_be_bytes(), b"\x82"].concat())
        .await;
}

#[tokio::test]
async fn requests_of_http_1_without_end() {
    let (listener, address) = listen(SOON);
    tokio::spawn(listener.serve(Hello::default()).into_future());
    let get = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let post = b"POST / HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\nx";
    flood(address, b"", |_| get.repeat(1000)).await;
    flood(address, b"", |_| post.repeat(1000)).await;
}

/// Responses without a body to requests whose body is not read are the ones of which hyper keeps any number.
#[tokio::test]
async fn requests_wait_while_their_answers_do() {
    let (listener, address) = listen(10 * SOON);
    let service = Hello::default();
    tokio::spawn(listener.serve(service.clone()).into_future());
    let head = b"HEAD / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\nx";
    flood(address, b"", |_| head.repeat(1000)).await;
    // The number that fills the buffers of the two sockets, which have some KiB each.
    let served = service.0.load(Ordering::Relaxed);
    assert!((1..2000).contains(&served), "{served} requests");
}

#[tokio::test]
async fn bytes_of_a_stream_without_end() {
    let (listener, address) = listen(SOON);
    tokio::spawn(listener.serve_streams(Echo).into_future());
    flood(address, b"", |_| vec![0; 64 << 10]).await;
}
