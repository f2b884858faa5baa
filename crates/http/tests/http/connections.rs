//! Too many connections, and slow ones.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use protomcp_http::{Config, ListenerConfig};
use protomcp_testing::{in_time, patience};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::client::{full, initialize};
use super::handler::Stage;

const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n";

async fn stage(max_connections: usize) -> Stage {
    let listener = ListenerConfig::default().with_max_connections(max_connections);
    Stage::with(Config::default(), listener).await
}

/// A connection from the local address 127.0.0.`last`.
async fn connect(stage: &Stage, last: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
    socket.connect(stage.host.address).await.unwrap()
}

/// A connection with a request that has begun and whose body does not come.
async fn begin(stage: &Stage, last: u8) -> TcpStream {
    let mut stream = connect(stage, last).await;
    let head = format!("{HEAD}content-length: 100\r\nexpect: 100-continue\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 25];
    in_time(stream.read_exact(&mut answer)).await.expect("the request does not begin").unwrap();
    assert_eq!(answer, *b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

/// Completes a handshake over a connection; `false`: it is closed instead.
async fn is_served(mut stream: TcpStream) -> bool {
    let body = full(&initialize("2025-11-25", "{}"));
    let mut start = [0; 12];
    let request = format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len());
    let asked = stream.write_all(request.as_bytes()).await;
    let answered = in_time(stream.read_exact(&mut start)).await.expect("the connection is left waiting");
    asked.is_ok() && answered.is_ok() && start == *b"HTTP/1.1 200"
}

async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 1];
    matches!(in_time(stream.read(&mut rest)).await, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn an_address_with_all_connections_keeps_no_other_out() {
    for (are_busy, closed) in [(false, 0), (true, 7)] {
        let stage = stage(8).await;
        let mut taken = Vec::new();
        for _ in 0..8 {
            taken.push(if are_busy { begin(&stage, 1).await } else { connect(&stage, 1).await });
        }
        assert!(is_served(connect(&stage, 2).await).await, "busy: {are_busy}");
        assert!(is_served(connect(&stage, 3).await).await, "busy: {are_busy}");
        assert!(is_closed(&mut taken[closed]).await, "the idle for longest, or the busy for shortest");
    }
}

#[tokio::test]
async fn an_address_alone_replaces_its_idle_connections_only() {
    let stage = stage(4).await;
    let mut idle = connect(&stage, 1).await;
    let mut busy = Vec::new();
    for _ in 0..3 {
        busy.push(begin(&stage, 1).await);
    }
    busy.push(begin(&stage, 1).await);
    assert!(is_closed(&mut idle).await);
    assert!(!is_served(connect(&stage, 1).await).await, "all places are busy");
    drop(busy);
    let mut tries = 0;
    while !is_served(connect(&stage, 1).await).await {
        tries += 1;
        assert!(tries < 1000, "places do not become free");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_connection_is_idle_again_after_its_request() {
    let stage = stage(1).await;
    let mut used = connect(&stage, 1).await;
    used.write_all(b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    in_time(used.read_exact(&mut start)).await.expect("no answer").unwrap();
    assert_eq!(start, *b"HTTP/1.1 404");
    // The answer may arrive before the server has noticed its end.
    let began = Instant::now();
    while !is_served(connect(&stage, 1).await).await {
        assert!(began.elapsed() < patience(), "the connection stays busy");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_first_head_that_comes_in_drops_is_not_waited_for() {
    let listener = ListenerConfig::default().with_first_request_timeout(Duration::from_millis(300));
    let stage = Stage::with(Config::default(), listener).await;
    let mut stream = connect(&stage, 1).await;
    stream.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
    let began = Instant::now();
    while stream.write_all(b"x: y\r\n").await.is_ok() {
        assert!(began.elapsed() < patience(), "the connection stays open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_stream_outlives_the_time_for_idle_connections() {
    let soon = Duration::from_millis(50);
    let listener = ListenerConfig::default().with_first_request_timeout(patience()).with_idle_timeout(soon);
    let stage = Stage::with(Config::default(), listener).await;
    let host = stage.host.hello("2025-11-25").await;
    let mut stream = host.get().await;
    assert!(stream.event().await.is_some());
    // A connection that is idle from now on is closed, so that the time of the stream has passed as well.
    let mut used = connect(&stage, 1).await;
    used.write_all(b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    in_time(used.read_to_end(&mut Vec::new())).await.expect("an idle connection stays open").unwrap();
    stage.tools.announce();
    assert!(stream.event().await.is_some_and(|event| event.data.contains("list_changed")));
    // Without a request a connection is closed.
    let listener = ListenerConfig::default().with_first_request_timeout(soon);
    let stage = Stage::with(Config::default(), listener).await;
    let mut idle = connect(&stage, 1).await;
    assert!(is_closed(&mut idle).await);
}
