//! Peers that send pings and do not read the pongs, or read them slowly.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use prost::Message as _;
use protomcp_bufmcp::Connect;
use protomcp_bufmcp::message::McpMessage;
use protomcp_websocket::{SUBPROTOCOL, WebSocketError, WebSocketServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::stage::{Client, call, list, prefixed};

/// The bytes of each ping and pong, without their heads: as many as there may be (RFC 6455, section 5.5).
const DATA: usize = 125;

/// The ping of this number. A client masks it, with a mask of zeros.
fn ping(number: u32, role: Role) -> Vec<u8> {
    let head: &[u8] = if role == Role::Client { &[0x89, 0x80 | DATA as u8, 0, 0, 0, 0] } else { &[0x89, DATA as u8] };
    [head, &data(number)].concat()
}

/// The pong of a server to the ping of this number.
fn pong(number: u32) -> Vec<u8> {
    [&[0x8a, DATA as u8][..], &data(number)].concat()
}

fn data(number: u32) -> [u8; DATA] {
    let mut data = [0; DATA];
    data[..4].copy_from_slice(&number.to_be_bytes());
    data
}

/// Sends 256 KB of pings each second, until the connection ends.
async fn flood(mut raw: DuplexStream, role: Role) {
    let pings = ping(0, role).repeat(2000);
    while raw.write_all(&pings).await.is_ok() {
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_pings_and_does_not_read_is_closed() {
    let client = Client::new().await;
    let waiting = client.server.outbound_budget().clone();
    let begin = Instant::now();
    let flooding = tokio::spawn(flood(client.socket.into_inner(), Role::Client));
    sleep(Duration::from_secs(59)).await;
    let held = waiting.taken();
    assert!((100 << 10..=128 << 10).contains(&held), "{held}");
    let outcome = client.serving.await.unwrap();
    assert!(matches!(outcome, Err(WebSocketError::Stalled(_))), "{outcome:?}");
    assert_eq!(begin.elapsed().as_secs(), 60);
    flooding.await.unwrap();
    assert_eq!(waiting.taken(), 0);
}

/// A way to a server that leads to one stream.
struct Opened(Mutex<Option<DuplexStream>>);

impl Connect for Opened {
    type Reader = ReadHalf<DuplexStream>;
    type Writer = WriteHalf<DuplexStream>;

    async fn connect(&self) -> io::Result<(Self::Reader, Self::Writer)> {
        Ok(split(self.0.lock().unwrap().take().expect("one connection")))
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_pings_and_does_not_read_is_closed() {
    let (near, far) = duplex(16 << 10);
    let server = WebSocketServer::new(Opened(Mutex::new(Some(near))), "ws://localhost/").unwrap();
    #[expect(clippy::result_large_err, reason = "the signature of the library")]
    let choose = |_: &Request, mut response: Response| {
        response.headers_mut().insert("sec-websocket-protocol", SUBPROTOCOL.parse().unwrap());
        Ok::<_, ErrorResponse>(response)
    };
    let (opened, accepted) = tokio::join!(server.connect(), tokio_tungstenite::accept_hdr_async(far, choose));
    let (mut reader, _writer) = opened.unwrap();
    let begin = Instant::now();
    let flooding = tokio::spawn(flood(accepted.unwrap().into_inner(), Role::Server));
    // The stream of the conversation ends with the connection.
    assert_eq!(reader.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(begin.elapsed().as_secs(), 60);
    flooding.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_pongs_are_bounded_and_the_newest_is_among_them() {
    let mut client = Client::open().await;
    let mut raw = client.socket.into_inner();
    let count = 5000;
    for number in 0..count {
        raw.write_all(&ping(number, Role::Client)).await.unwrap();
    }
    let (mut pongs, newest) = (Vec::<u8>::new(), pong(count - 1));
    let reading = async {
        while !pongs.ends_with(&newest) {
            assert_ne!(raw.read_buf(&mut pongs).await.unwrap(), 0, "the connection has ended");
        }
    };
    timeout(Duration::from_secs(20), reading).await.expect("the newest pong arrives");
    // The buffer of the connection, the buffer of the stream, and pings that were read while pongs were read.
    assert!(pongs.len() < 192 << 10, "{}", pongs.len());
    // The conversation goes on.
    client.socket = WebSocketStream::from_raw_socket(raw, Role::Client, None).await;
    client.send(prefixed(&list(2))).await;
    assert_eq!(McpMessage::decode(&client.message().await[4..]).unwrap().id, 2);
}

/// Up to about 1,250 pings are read together: pongs of as many have room here and at the client, or they wait in the
/// stream.
#[tokio::test(start_paused = true)]
async fn pings_whose_pongs_have_no_room_are_read_slowly() {
    let client = Client::new().await;
    let mut raw = client.socket.into_inner();
    for (count, seconds) in [(1000, 0..1), (2000, 3..30)] {
        let begin = Instant::now();
        for number in 0..count {
            raw.write_all(&ping(number, Role::Client)).await.unwrap();
        }
        assert!(seconds.contains(&begin.elapsed().as_secs()), "{count} pings: {:?}", begin.elapsed());
    }
}

/// The peer must take 64 KiB a minute.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_stays() {
    for (bytes, stays) in [(8 << 10, true), (4 << 10, false)] {
        let client = Client::new().await;
        let mut raw = client.socket.into_inner();
        let (pings, mut pongs) = (ping(0, Role::Client).repeat(100), vec![0; bytes]);
        let reading = async {
            // More pongs wait with each round.
            while raw.write_all(&pings).await.is_ok() && raw.read_exact(&mut pongs).await.is_ok() {
                sleep(Duration::from_secs(5)).await;
            }
        };
        let stayed = timeout(Duration::from_secs(600), reading).await.is_err();
        assert_eq!(stayed, stays, "{bytes} bytes every 5 s");
        assert_eq!(client.serving.is_finished(), !stays, "{bytes} bytes every 5 s");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_behind_pongs_arrives_whole() {
    let mut client = Client::open().await;
    let mut raw = client.socket.into_inner();
    raw.write_all(&ping(1, Role::Client).repeat(2000)).await.unwrap();
    client.socket = WebSocketStream::from_raw_socket(raw, Role::Client, None).await;
    client.send(prefixed(&call(2, "repeat", r#"{"text": "0123456789", "times": 50000}"#).await)).await;
    let answer = client.message().await;
    assert!(answer.len() > 500_000, "{}", answer.len());
    assert_eq!(McpMessage::decode(&answer[4..]).unwrap().id, 2);
}
