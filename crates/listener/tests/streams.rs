//! A service for plain streams on a listener.

use std::future::IntoFuture;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use protomcp_listener::{ConnectionInfo, Listener, ListenerConfig, Stream, StreamService};
use protomcp_testing::in_time;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Returns each byte, until the client has closed its end or the listener shuts down.
#[derive(Clone)]
struct Echo {
    stop: CancellationToken,
    /// The service does not hear of the shutdown.
    is_deaf: bool,
}

impl StreamService for Echo {
    async fn serve(self, mut stream: Stream, info: ConnectionInfo) {
        assert!(info.peer.ip().is_loopback());
        let mut byte = [0];
        loop {
            tokio::select! {
                read = stream.read(&mut byte) => if !matches!(read, Ok(1)) {
                    return;
                },
                () = self.stop.cancelled(), if !self.is_deaf => return,
            }
            if stream.write_all(&byte).await.is_err() {
                return;
            }
        }
    }
}

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<io::Result<()>>,
}

async fn start(config: ListenerConfig, is_deaf: bool) -> Server {
    let stop = CancellationToken::new();
    let service = Echo { stop: stop.clone(), is_deaf };
    let listener = Listener::bind("127.0.0.1:0").await.unwrap().with_config(config);
    let address = listener.local_addr().unwrap();
    let serving = listener.serve_streams(service).with_graceful_shutdown(stop.clone().cancelled_owned());
    Server { address, stop, task: tokio::spawn(serving.into_future()) }
}

async fn echo(stream: &mut TcpStream, byte: u8) {
    stream.write_all(&[byte]).await.unwrap();
    let mut answer = [0];
    in_time(stream.read_exact(&mut answer)).await.expect("no answer").unwrap();
    assert_eq!(answer, [byte]);
}

/// Waits until the server has closed a connection.
async fn ended(mut stream: TcpStream) {
    let end = in_time(stream.read(&mut [0])).await.expect("the connection stays open");
    assert!(!matches!(end, Ok(1..)), "{end:?}");
}

#[tokio::test]
async fn a_stream_carries_any_bytes_both_ways() {
    let server = start(ListenerConfig::default(), false).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for byte in [0, 22, b'{', 255] {
        echo(&mut stream, byte).await;
    }
    stream.shutdown().await.unwrap();
    ended(stream).await;
}

#[tokio::test]
async fn a_stream_ends_by_itself_or_after_the_drain_timeout() {
    for is_deaf in [false, true] {
        let config = ListenerConfig::default().with_drain_timeout(Duration::from_millis(20));
        let server = start(config, is_deaf).await;
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        echo(&mut stream, 1).await;
        server.stop.cancel();
        ended(stream).await;
        in_time(server.task).await.expect("the server does not end").unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_idle_stream_is_closed() {
    let config = ListenerConfig::default().with_stream_idle_timeout(Duration::from_millis(50));
    let server = start(config, false).await;
    // On a busy machine a stream may be idle for that long before its first byte, and is closed.
    let served = async {
        loop {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            if stream.write_all(&[1]).await.is_ok() && stream.read_exact(&mut [0]).await.is_ok() {
                return stream;
            }
        }
    };
    ended(in_time(served).await.expect("no stream is served")).await;
}

#[tokio::test]
async fn a_stream_may_be_idle_for_ever() {
    let config = ListenerConfig::default()
        .with_first_request_timeout(Duration::MAX)
        .with_stream_idle_timeout(Duration::MAX)
        .with_write_timeout(Duration::MAX);
    let server = start(config, false).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    echo(&mut stream, 1).await;
    stream.shutdown().await.unwrap();
    ended(stream).await;
}

#[tokio::test]
async fn a_silent_stream_is_not_waited_for() {
    let config = ListenerConfig::default().with_first_request_timeout(Duration::from_millis(20));
    let server = start(config, false).await;
    ended(TcpStream::connect(server.address).await.unwrap()).await;
}

#[tokio::test]
async fn streams_share_the_limit_of_connections() {
    let server = start(ListenerConfig::default().with_max_connections(1), false).await;
    let mut busy = TcpStream::connect(server.address).await.unwrap();
    echo(&mut busy, 1).await;
    // The address holds the only slot, and its stream is in use.
    ended(TcpStream::connect(server.address).await.unwrap()).await;
    echo(&mut busy, 2).await;
}
