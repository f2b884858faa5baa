//! The ends of conversations, and bytes that are not messages.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use protomcp_bufmcp::message::{ListResourcesRequest, ListToolsRequest, McpMessage, Payload};
use protomcp_bufmcp::{BinaryServeError, Decoder, FrameLimits, FrameTooLarge};
use protomcp_testing::{in_time, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::stage::{Client, Stage, TOOLS, call, server, success};

#[tokio::test]
async fn the_end_of_input_lets_calls_finish() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    let id = client.send(call("slow", r#"{"ms":100}"#, &[]).await).await;
    client.stream.shutdown().await.unwrap();
    let message = client.receive().await.unwrap();
    let Some(Payload::CallToolResponse(response)) = message.payload else { panic!() };
    success(response);
    assert_eq!(message.id, id);
    client.end().await.unwrap();
}

#[tokio::test]
async fn calls_that_do_not_finish_are_answered_and_dropped() {
    let stage = Stage::with_tools(TOOLS);
    let server = server(&stage).0.configure(|config| config.limits.drain_timeout = Duration::from_millis(50));
    let mut client = Client::open(&server).await;
    client.send(call("slow", "", &[]).await).await;
    counted(&stage.entered).await;
    client.stream.shutdown().await.unwrap();
    let Some(Payload::CallToolResponse(response)) = client.receive().await.unwrap().payload else { panic!() };
    assert_eq!(super::stage::error(response).code, -32603);
    client.end().await.unwrap();
    assert_eq!(stage.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_stream_that_ends_inside_a_frame_is_an_error_without_answer() {
    for rest in [&[0, 0][..], &[0, 0, 0, 9], &[0, 0, 0, 9, 8, 1]] {
        let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
        client.stream.write_all(rest).await.unwrap();
        client.stream.shutdown().await.unwrap();
        assert!(client.receive().await.is_none());
        assert!(matches!(client.end().await, Err(BinaryServeError::Truncated)));
    }
}

#[tokio::test]
async fn requests_before_a_frame_that_is_cut_off_are_answered() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    for _ in 0..10 {
        client.send(call("text", "", &[]).await).await;
    }
    client.stream.write_all(&[0, 0]).await.unwrap();
    client.stream.shutdown().await.unwrap();
    for _ in 0..10 {
        assert!(matches!(client.receive().await.unwrap().payload, Some(Payload::CallToolResponse(_))));
    }
    assert!(matches!(client.end().await, Err(BinaryServeError::Truncated)));
}

#[tokio::test]
async fn requests_that_wait_for_room_at_the_end_are_answered() {
    let server = server(&Stage::with_tools(TOOLS)).0.configure(|config| config.limits.max_in_flight = 1);
    let mut client = Client::open(&server).await;
    for _ in 0..400 {
        client.send(Payload::ListResourcesRequest(ListResourcesRequest::default())).await;
    }
    client.stream.shutdown().await.unwrap();
    for _ in 0..400 {
        assert!(matches!(client.receive().await.unwrap().payload, Some(Payload::ListResourcesResponse(_))));
    }
    client.end().await.unwrap();
}

/// A message without a payload, which is refused.
const EMPTY: [u8; 6] = [0, 0, 0, 2, 8, 99];

#[tokio::test]
async fn a_flood_of_refused_messages_does_not_stop_the_clock() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    let id = client.send(call("slow", "", &[("timeout_ms", "50")]).await).await;
    let (mut reader, mut writer) = tokio::io::split(client.stream);
    let flood = tokio::spawn(async move { while writer.write_all(&EMPTY.repeat(500)).await.is_ok() {} });
    let (mut decoder, mut input) = (Decoder::new(FrameLimits::default()), BytesMut::new());
    let told = in_time(async {
        loop {
            assert_ne!(reader.read_buf(&mut input).await.unwrap(), 0);
            while let Some(message) = decoder.decode(&mut input).unwrap() {
                if let McpMessage { id: found, payload: Some(payload) } = message.unwrap()
                    && found == id
                {
                    return payload;
                }
            }
        }
    });
    let Ok(Payload::CallToolResponse(response)) = told.await else { panic!("it is not told in time") };
    assert_eq!(super::stage::error(response).code, -33003);
    flood.abort();
}

#[tokio::test]
async fn a_frame_beyond_the_limit_is_answered_and_ends_the_stream() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    client.stream.write_all(&[2, 0, 0, 1]).await.unwrap();
    let Some(Payload::ErrorResponse(fault)) = client.receive().await.unwrap().payload else { panic!() };
    assert_eq!(fault.code, -32013);
    assert!(client.receive().await.is_none());
    let expected = FrameTooLarge { size: (32 << 20) + 1, limit: 32 << 20, setting: None };
    assert!(matches!(client.end().await, Err(BinaryServeError::TooLarge(seen)) if seen == expected));
}

#[tokio::test]
async fn garbage_between_frames_is_answered_and_skipped() {
    let mut client = Client::open(&server(&Stage::with_tools(TOOLS)).0).await;
    for (bytes, id, code) in [
        (&[0, 0, 0, 0][..], 0, -32600),
        (&[0, 0, 0, 3, 8, 77, 0xff], 77, -32700),
        (&[0, 0, 0, 4, 8, 78, 0x6a, 0], 78, -32601),
    ] {
        client.stream.write_all(bytes).await.unwrap();
        let message = client.receive().await.unwrap();
        let Some(Payload::ErrorResponse(fault)) = message.payload else { panic!() };
        assert_eq!((message.id, fault.code), (id, code));
    }
    client.tools(ListToolsRequest::default()).await.unwrap();
    client.stream.write_all(&[0, 0, 0, 1, 0xff].repeat(3)).await.unwrap();
    for _ in 0..3 {
        assert!(client.receive().await.is_some());
    }
    assert!(client.receive().await.is_none());
    assert!(matches!(client.end().await, Err(BinaryServeError::Garbage)));
}

#[tokio::test]
async fn a_small_first_frame_is_answered_while_the_stream_stays_open() {
    let mut client = Client::connect(&server(&Stage::with_tools(TOOLS)).0);
    // The prefix alone, and then a frame in single bytes.
    let frame = [0, 0, 0, 11, 8, 1, 0x12, 7, 10, 5, b'1', b'.', b'0', b'.', b'0'];
    assert_eq!(frame.len(), 15);
    for byte in frame {
        client.stream.write_all(&[byte]).await.unwrap();
    }
    assert!(matches!(client.receive().await.unwrap().payload, Some(Payload::InitializeResponse(_))));
}

#[tokio::test]
async fn a_server_that_shuts_down_answers_and_closes() {
    let stage = Stage::with_tools(TOOLS);
    let (server, handle) = server(&stage);
    let mut client = Client::open(&server).await;
    client.send(call("slow", r#"{"ms":200}"#, &[]).await).await;
    counted(&stage.entered).await;
    handle.shutdown();
    let Some(Payload::CallToolResponse(response)) = client.receive().await.unwrap().payload else { panic!() };
    success(response);
    assert!(client.receive().await.is_none());
    assert!(in_time(client.serving).await.unwrap().unwrap().is_ok());
}

#[tokio::test]
async fn a_client_that_stops_reading_ends_with_an_error() {
    let server = server(&Stage::with_tools(TOOLS)).0.configure(|config| {
        config.limits.drain_timeout = Duration::from_millis(100);
    });
    let mut client = Client::open(&server).await;
    // Answers of 64 KiB and more fill the stream.
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(60_000));
    for _ in 0..3 {
        client.send(call("echo", &large, &[]).await).await;
    }
    // A call without an answer yet would be given up after that time, with a small one.
    in_time(client.stream.read_u8()).await.expect("an answer begins").unwrap();
    client.stream.shutdown().await.unwrap();
    let outcome = in_time(&mut client.serving).await.expect("the server gives up").unwrap();
    assert!(matches!(outcome, Err(BinaryServeError::Stalled)), "{outcome:?}");
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_nothing_running() {
    let stage = Stage::with_tools(TOOLS);
    let mut client = Client::open(&server(&stage).0).await;
    client.send(call("slow", "", &[]).await).await;
    counted(&stage.entered).await;
    client.serving.abort();
    counted(&stage.dropped).await;
}

/// Waits until the stage has counted something.
pub(crate) async fn counted(count: &AtomicUsize) {
    until("it is counted", || count.load(Ordering::SeqCst) > 0).await;
}
