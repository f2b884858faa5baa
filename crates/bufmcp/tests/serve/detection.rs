//! Either protocol on one stream, by its first bytes.

use std::time::Duration;

use protomcp_bufmcp::{BinaryPeer, BinaryServer, DetectOptions, JsonLines, Refusal, ServeAnyError, StreamProtocol};
use protomcp_server::Router;
use protomcp_testing::in_time;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::stage::{Actor, Stage, TOOLS, server};

type Serving = JoinHandle<Result<(), ServeAnyError>>;

fn connect(server: &BinaryServer<Router<Actor>>, options: DetectOptions) -> (DuplexStream, Serving) {
    let (stream, theirs) = duplex(64 << 10);
    let server = server.clone();
    let (reader, writer) = tokio::io::split(theirs);
    let serving = tokio::spawn(async move { server.serve_any(reader, writer, BinaryPeer::default(), options).await });
    (stream, serving)
}

async fn ends(serving: Serving) -> Result<(), ServeAnyError> {
    in_time(serving).await.expect("it ends").unwrap()
}

/// `initialize` of proto-mcp in 15 bytes.
const FRAME: &[u8] = &[0, 0, 0, 11, 8, 1, 0x12, 7, 10, 5, b'1', b'.', b'0', b'.', b'0'];

const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

/// Each first message is answered while the stream stays open, and no byte of it is lost.
#[tokio::test]
async fn either_protocol_is_answered_on_an_open_stream() {
    let server = server(&Stage::with_tools(TOOLS)).0;
    for (before, message, answer) in [
        (&b""[..], FRAME, &b"\0\0\0"[..]),
        (b"", PING, b"{"),
        (b" ", PING, b"{"),
        (b"\r\n", PING, b"{"),
        (b"\xef\xbb\xbf", PING, b"{"),
        (b"no JSON\n", PING, b"{"),
    ] {
        for size in [1, 7, 1000] {
            let (mut stream, _serving) = connect(&server, DetectOptions::STDIO);
            for piece in [before, message].concat().chunks(size) {
                stream.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            let mut seen = vec![0; answer.len()];
            in_time(stream.read_exact(&mut seen)).await.expect("an answer").unwrap();
            assert_eq!(seen, answer, "{before:?}");
        }
    }
}

#[tokio::test]
async fn other_protocols_end_with_a_clear_error() {
    let server = server(&Stage::with_tools(TOOLS)).0;
    for (bytes, error) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00"[..], "the client speaks TLS, which is not served here"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "the client speaks HTTP/2, which is not served here"),
        (b"POST / HTTP/1.1\r\n", "the client speaks HTTP/1.1, which is not served here"),
        (b"\x0b\x00\x00\x00", "the first frame is too large"),
        (b"\x1f", "the first frame is too large"),
    ] {
        for options in [DetectOptions::STDIO, DetectOptions::NETWORK] {
            let (mut stream, serving) = connect(&server, options);
            stream.write_all(bytes).await.unwrap();
            assert_eq!(ends(serving).await.unwrap_err().to_string(), error);
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "the stream is closed");
        }
    }
}

#[tokio::test]
async fn a_network_is_stricter_than_standard_input() {
    let server = server(&Stage::with_tools(TOOLS)).0;
    let (mut stream, serving) = connect(&server, DetectOptions::NETWORK);
    stream.write_all(b"hello\n").await.unwrap();
    assert!(matches!(ends(serving).await, Err(ServeAnyError::Refused(Refusal::Unknown))));
    let only_binary = DetectOptions { json: JsonLines::Refused, ..DetectOptions::NETWORK };
    let (mut stream, serving) = connect(&server, only_binary);
    stream.write_all(PING).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).await.unwrap();
    assert!(told.starts_with('{') && told.ends_with("}\n") && told.contains("-32600"), "{told}");
    assert!(matches!(ends(serving).await, Err(ServeAnyError::NotServed(StreamProtocol::JsonLines))));
    let (stream, serving) = connect(&server, DetectOptions::NETWORK);
    drop(stream);
    ends(serving).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_not_waited_for_on_a_network() {
    let server = server(&Stage::with_tools(TOOLS)).0;
    let (_stream, serving) = connect(&server, DetectOptions::NETWORK);
    assert!(matches!(serving.await.unwrap(), Err(ServeAnyError::TimedOut(time)) if time == Duration::from_secs(10)));
}

#[tokio::test]
async fn a_shutdown_ends_streams_without_a_message() {
    let (server, handle) = server(&Stage::with_tools(TOOLS));
    let (_silent, first) = connect(&server, DetectOptions::STDIO);
    let (mut idle, second) = connect(&server, DetectOptions::STDIO);
    idle.write_all(FRAME).await.unwrap();
    idle.read_exact(&mut [0; 4]).await.unwrap();
    handle.shutdown();
    ends(first).await.unwrap();
    ends(second).await.unwrap();
}
