//! Frames to bytes and back.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Limits};
use protomcp_envelope::{CallToolResponse, Envelope};

fn envelope(size: usize) -> Envelope {
    let result_json = Bytes::from("abcdefgh".repeat(size / 8));
    Envelope::new("req-1234", CallToolResponse { result_json, ..CallToolResponse::default() })
}

/// Encodes a result with a payload of `size` bytes.
///
/// # Panics
/// If it exceeds the limits of frames.
pub fn encode(size: usize, count: u32) {
    let envelope = envelope(size);
    let mut encoder = Encoder::new(Limits::default());
    let mut out = Vec::with_capacity(size + 64);
    for _ in 0..count {
        out.clear();
        encoder.encode_envelope(black_box(&envelope), &mut out).expect("it is within the limits");
        black_box(&out);
    }
}

/// Decodes a result with a payload of `size` bytes, after copying it into the read buffer.
///
/// # Panics
/// If it exceeds the limits of frames.
pub fn decode(size: usize, count: u32) {
    let mut frame = Vec::new();
    Encoder::new(Limits::default()).encode_envelope(&envelope(size), &mut frame).expect("it is within the limits");
    let mut decoder = Decoder::new(Limits::default());
    let mut source = BytesMut::new();
    for _ in 0..count {
        source.extend_from_slice(&frame);
        while let Some(frame) = decoder.decode(&mut source).expect("the frame is good") {
            black_box(frame);
        }
    }
}
