//! The codec behind `tokio_util::codec::Framed`.

use futures_util::{SinkExt, StreamExt};
use protomcp_codec::{DecodeError, Encoder, Field, Frame, FrameCodec, FramedError, Limits, Raw};
use protomcp_envelope::{CallToolRequest, Envelope, ListToolsRequest};
use tokio::io::AsyncWriteExt;
use tokio_util::codec::Framed;

type Item = Result<Result<Frame, DecodeError>, FramedError>;

fn limits() -> Limits {
    Limits { max_frame: 100, ..Limits::default() }
}

/// Writes these bytes through a pipe that holds 7 bytes at a time, and returns what arrives.
fn arrives(bytes: &[u8]) -> Vec<Item> {
    let bytes = bytes.to_vec();
    run(async move {
        let (near, mut far) = tokio::io::duplex(7);
        tokio::spawn(async move { far.write_all(&bytes).await });
        Framed::new(near, FrameCodec::new(limits())).collect().await
    })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn question() -> Envelope {
    Envelope::new("1", ListToolsRequest {})
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| Encoder::new(Limits::default()).encode(frame, &mut bytes).unwrap());
    bytes
}

#[test]
fn frames_go_through_a_pipe_in_both_directions() {
    run(async {
        let (near, far) = tokio::io::duplex(16);
        let mut near = Framed::new(near, FrameCodec::new(limits()));
        let mut far = Framed::new(far, FrameCodec::new(limits()));
        let raw = Raw::new("1", Field::ResultJson, vec![b'x'; 1000]);
        let sender = tokio::spawn({
            let raw = raw.clone();
            async move {
                near.send(&question()).await.unwrap();
                near.send(raw).await.unwrap();
                near.send(question()).await.unwrap();
                near
            }
        });
        for frame in [Frame::Envelope(question()), Frame::Raw(raw), Frame::Envelope(question())] {
            assert_eq!(far.next().await.unwrap().unwrap(), Ok(frame));
        }
        drop(sender);
    });
}

#[test]
fn a_broken_frame_does_not_end_the_stream() {
    let stream = [&[0, 0, 0, 1, 0xff], &bytes(&[Frame::Envelope(question())])[..]].concat();
    let items = arrives(&stream);
    assert!(matches!(items[0], Ok(Err(DecodeError::Malformed { size: 1, .. }))), "{items:?}");
    assert!(matches!(&items[1], Ok(Ok(Frame::Envelope(envelope))) if *envelope == question()), "{items:?}");
    assert_eq!(items.len(), 2);
}

#[test]
fn a_lost_stream_ends() {
    let mut header = Raw::new("1", Field::ResultJson, "").header;
    header.size = u64::MAX;
    let items = arrives(&bytes(&[Frame::Envelope(Envelope::new("", header))]));
    assert!(matches!(items[..], [Err(FramedError::Decode(DecodeError::TooFar { size: u64::MAX, .. }))]), "{items:?}");
}

#[test]
fn a_stream_that_ends_inside_a_frame_is_an_error() {
    let bytes = bytes(&[Frame::Envelope(question())]);
    let items = arrives(&bytes[..bytes.len() - 1]);
    assert!(matches!(items[..], [Err(FramedError::Io(_))]), "{items:?}");
}

#[test]
fn what_does_not_fit_is_refused_and_the_sink_goes_on() {
    run(async {
        let (near, far) = tokio::io::duplex(1000);
        let mut near = Framed::new(near, FrameCodec::new(limits()));
        let large =
            Envelope::new("2", CallToolRequest { arguments_json: vec![b'x'; 200].into(), ..Default::default() });
        assert!(matches!(near.send(large).await, Err(FramedError::Encode(_))));
        near.send(question()).await.unwrap();
        drop(near);
        let frames: Vec<Item> = Framed::new(far, FrameCodec::new(limits())).collect().await;
        assert!(matches!(&frames[..], [Ok(Ok(Frame::Envelope(envelope)))] if *envelope == question()), "{frames:?}");
    });
}
