//! Items 33 and 68 of proto-mcp: one message of proto-mcp in each binary message, and the ends of a connection.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use prost::Message as _;
use protomcp_bufmcp::message::{McpMessage, Payload, call_tool_response, tool_content};
use protomcp_bufmcp::{BinaryPeer, BinaryServeError};
use protomcp_testing::{in_time, until};
use protomcp_websocket::{WebSocketError, WebSocketOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::stage::{Client, call, initialize, list, prefixed};

fn error_of(bytes: &[u8]) -> (u64, i32) {
    let message = McpMessage::decode(bytes).unwrap();
    match message.payload {
        Some(Payload::ErrorResponse(error)) => (message.id, error.code),
        other => panic!("{other:?}"),
    }
}

fn text_of(bytes: &[u8]) -> String {
    let Some(Payload::CallToolResponse(response)) = McpMessage::decode(bytes).unwrap().payload else {
        panic!("{bytes:?}")
    };
    let Some(call_tool_response::Result::Success(result)) = response.result else { panic!("{response:?}") };
    match result.content.into_iter().next().and_then(|content| content.content) {
        Some(tool_content::Content::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Item 33.
#[tokio::test]
async fn messages_with_and_without_prefix_are_answered_in_their_form() {
    let mut client = Client::new().await;
    client.send(initialize().encode_to_vec()).await;
    let bare = client.message().await;
    assert!(matches!(McpMessage::decode(&bare[..]).unwrap().payload, Some(Payload::InitializeResponse(_))));
    client.send(prefixed(&list(2))).await;
    let framed = client.message().await;
    assert_eq!(framed[..4], u32::try_from(framed.len() - 4).unwrap().to_be_bytes());
    assert_eq!(McpMessage::decode(&framed[4..]).unwrap().id, 2);
    client.send(list(3).encode_to_vec()).await;
    assert_eq!(McpMessage::decode(client.message().await).unwrap().id, 3);
    client.socket.close(None).await.unwrap();
    assert!(client.outcome().await.is_ok());
}

/// Pings that are never due, and a peer that may take its time.
#[tokio::test]
async fn times_of_any_length_are_usable() {
    let never = WebSocketOptions::default()
        .with_ping_interval(Duration::MAX)
        .with_max_missed(u32::MAX)
        .with_write_timeout(Duration::MAX);
    let mut client = Client::with(never, BinaryPeer::default()).await;
    client.send(initialize().encode_to_vec()).await;
    let answer = McpMessage::decode(client.message().await).unwrap();
    assert!(matches!(answer.payload, Some(Payload::InitializeResponse(_))), "{answer:?}");
    client.socket.close(None).await.unwrap();
    assert!(client.outcome().await.is_ok());
}

/// Item 33.
#[tokio::test]
async fn two_messages_in_one_are_a_parse_error() {
    let mut client = Client::open().await;
    let two = [prefixed(&list(2)), prefixed(&list(3))].concat();
    let trailing = [&prefixed(&list(4))[..], b"x"].concat();
    for wrong in [two.clone(), trailing] {
        client.send(wrong).await;
        assert_eq!(error_of(&client.message().await[4..]), (0, -32700));
    }
    // A message between them is answered.
    client.send(prefixed(&list(5))).await;
    assert_eq!(McpMessage::decode(&client.message().await[4..]).unwrap().id, 5);
    for _ in 0..3 {
        client.send(two.clone()).await;
        assert_eq!(error_of(&client.message().await[4..]), (0, -32700));
    }
    assert_eq!(client.close_code().await, 1002);
    let outcome = client.outcome().await;
    assert!(matches!(outcome, Err(WebSocketError::Conversation(BinaryServeError::Garbage))), "{outcome:?}");
}

#[tokio::test]
async fn empty_messages_are_refused_and_skipped() {
    let mut client = Client::open().await;
    for empty in [Bytes::new(), Bytes::from_static(&[0, 0, 0, 0])] {
        client.send(empty).await;
        assert_eq!(error_of(&client.message().await[4..]), (0, -32600));
    }
}

/// Item 33.
#[tokio::test]
async fn text_closes_the_connection() {
    let mut client = Client::open().await;
    client.socket.send(Message::text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")).await.unwrap();
    assert_eq!(client.close_code().await, 1003);
    let outcome = client.outcome().await;
    assert!(matches!(outcome, Err(WebSocketError::Text)), "{outcome:?}");
}

/// Item 33.
#[tokio::test]
async fn a_message_above_the_limit_closes_the_connection() {
    for size in [(1 << 20) + 5, 3 << 20] {
        let mut client = Client::open().await;
        let (mut sink, mut stream) = client.socket.split();
        let sending = tokio::spawn(async move {
            // The server may close while this is sent.
            drop(sink.send(Message::Binary(vec![8; size].into())).await);
            sink
        });
        let closed = in_time(stream.next()).await.unwrap().unwrap().unwrap();
        let Message::Close(Some(frame)) = closed else { panic!("{closed:?}") };
        assert_eq!(u16::from(frame.code), 1009, "{size}");
        client.socket = sending.await.unwrap().reunite(stream).unwrap();
        let outcome = client.outcome().await;
        assert!(matches!(outcome, Err(WebSocketError::TooLarge { .. })), "{outcome:?}");
    }
}

/// A bare message of the limit and one byte fits the connection, and not the conversation.
#[tokio::test]
async fn a_message_a_byte_above_the_limit_is_answered() {
    let mut client = Client::open().await;
    client.send(vec![8; (1 << 20) + 1]).await;
    assert_eq!(error_of(&client.message().await), (0, -32013));
    assert_eq!(client.close_code().await, 1009);
}

/// Item 33.
#[tokio::test]
async fn fragments_are_assembled_up_to_the_limit() {
    let mut client = Client::open().await;
    let bytes = prefixed(&call(2, "echo", r#"{"text": "in pieces"}"#).await);
    let last = bytes.len() - 1;
    for (position, byte) in bytes.iter().enumerate() {
        let code = OpCode::Data(if position == 0 { Data::Binary } else { Data::Continue });
        let frame = Frame::message(vec![*byte], code, position == last);
        client.socket.send(Message::Frame(frame)).await.unwrap();
        if position == 3 {
            client.socket.send(Message::Ping(Bytes::from_static(b"between"))).await.unwrap();
            assert_eq!(client.next().await, Some(Message::Pong(Bytes::from_static(b"between"))));
        }
    }
    assert_eq!(text_of(&client.message().await[4..]), "in pieces");
    for position in 0..5 {
        let code = OpCode::Data(if position == 0 { Data::Binary } else { Data::Continue });
        client.socket.send(Message::Frame(Frame::message(vec![8; 300 << 10], code, false))).await.unwrap();
    }
    assert_eq!(client.close_code().await, 1009);
}

#[tokio::test]
async fn large_answers_arrive_whole_in_either_form() {
    let mut client = Client::open().await;
    let request = call(2, "repeat", r#"{"text": "0123456789", "times": 50000}"#).await;
    client.send(prefixed(&request)).await;
    assert_eq!(text_of(&client.message().await[4..]).len(), 500_000);
    client.send(request.encode_to_vec()).await;
    assert_eq!(text_of(&client.message().await).len(), 500_000);
}

/// Item 33.
#[tokio::test]
async fn other_bytes_are_a_protocol_error() {
    for bytes in [
        // A reserved bit, an unknown kind, a fragment of nothing, a ping in fragments, and a frame without a mask.
        &[0xc2, 0x80, 0, 0, 0, 0][..],
        &[0x83, 0x80, 0, 0, 0, 0],
        &[0x80, 0x80, 0, 0, 0, 0],
        &[0x09, 0x80, 0, 0, 0, 0],
        &[0x82, 0x01, 0x08],
    ] {
        let client = Client::open().await;
        let mut raw = client.socket.into_inner();
        raw.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        in_time(raw.read_to_end(&mut answer)).await.unwrap().unwrap();
        assert_eq!((answer[0], &answer[2..4]), (0x88, &1002u16.to_be_bytes()[..]), "{bytes:?} {answer:?}");
        drop(raw);
        let outcome = in_time(client.serving).await.unwrap().unwrap();
        assert!(matches!(outcome, Err(WebSocketError::Protocol(_))), "{bytes:?} {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_pings_is_gone() {
    let options = WebSocketOptions::default().with_ping_interval(Duration::from_secs(30)).with_max_missed(2);
    let client = Client::with(options, BinaryPeer::default()).await;
    let begin = tokio::time::Instant::now();
    // Nothing is read, so nothing is answered.
    let outcome = client.serving.await.unwrap();
    assert!(matches!(outcome, Err(WebSocketError::Dead(_))), "{outcome:?}");
    assert_eq!(begin.elapsed().as_secs(), 90);
    drop(client.socket);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays() {
    let mut client = Client::open().await;
    let begin = tokio::time::Instant::now();
    while begin.elapsed() < Duration::from_secs(3600) {
        let next = timeout(Duration::from_secs(31), client.socket.next()).await.expect("a ping every 30 seconds");
        assert_eq!(next.unwrap().unwrap(), Message::Ping(Bytes::new()));
    }
    client.send(prefixed(&list(2))).await;
    assert_eq!(McpMessage::decode(&client.message().await[4..]).unwrap().id, 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_waited_for() {
    let options = WebSocketOptions::default().with_write_timeout(Duration::from_secs(60));
    let mut client = Client::with(options, BinaryPeer::default()).await;
    client.send(prefixed(&initialize())).await;
    for id in 2..40 {
        client.send(prefixed(&call(id, "repeat", r#"{"text": "0123456789", "times": 10000}"#).await)).await;
        // The client answers pings that it has not seen.
        client.socket.send(Message::Pong(Bytes::new())).await.unwrap();
    }
    let outcome = client.serving.await.unwrap();
    assert!(matches!(outcome, Err(WebSocketError::Stalled(_))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_does_not_hold_the_shutdown() {
    let hour = Duration::from_secs(3600);
    let options = WebSocketOptions::default().with_write_timeout(hour).with_ping_interval(hour);
    let mut client = Client::with(options, BinaryPeer::default()).await;
    client.send(prefixed(&initialize())).await;
    client.send(prefixed(&call(2, "repeat", r#"{"text": "0123456789", "times": 10000}"#).await)).await;
    // The stopped clock goes on when nothing moves: the answer fills the connection.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begin = tokio::time::Instant::now();
    client.server.shutdown();
    let outcome = client.serving.await.unwrap();
    assert!(matches!(outcome, Err(WebSocketError::Stalled(_))), "{outcome:?}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn the_end_of_the_server_and_of_a_token_are_told() {
    let mut client = Client::open().await;
    client.server.shutdown();
    assert_eq!(client.close_code().await, 1001);
    assert!(client.outcome().await.is_ok());
    let mut client = Client::open().await;
    client.revoke.take().unwrap().send(()).unwrap();
    assert_eq!(client.close_code().await, 1008);
    assert!(client.outcome().await.is_ok());
}

#[tokio::test]
async fn bytes_of_unfinished_messages_share_the_budget() {
    let peer = BinaryPeer { address: Some("192.0.2.1".parse().unwrap()), ..BinaryPeer::default() };
    let mut client = Client::with(WebSocketOptions::default(), peer).await;
    let frame = Frame::message(vec![8; 300 << 10], OpCode::Data(Data::Binary), false);
    client.socket.send(Message::Frame(frame)).await.unwrap();
    let budget = client.server.inbound_budget().clone();
    until("the bytes are counted", || budget.taken() >= 250 << 10).await;
    drop(client.socket);
    let outcome = in_time(client.serving).await.unwrap().unwrap();
    assert!(matches!(outcome, Err(WebSocketError::Io(_))), "{outcome:?}");
    assert_eq!(budget.taken(), 0);
}
