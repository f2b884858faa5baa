//! Encodes and decodes frames, in comparison with the usual alternative: tokio-util's `LengthDelimitedCodec` and prost.
//!
//! Sizes are sizes of the payload. The peer's messages hold `String`s, as prost generates them from the proto file.

use bytes::{Bytes, BytesMut};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use prost::Message;
use protomcp_codec::{Decoder, Encoder, Field, Frame, Limits, Raw};
use protomcp_envelope::{CallToolResponse, Envelope};
use tokio_util::codec::{Decoder as _, Encoder as _, LengthDelimitedCodec};

const SIZES: [usize; 2] = [200, 64 * 1024];
const RAW: usize = 16 << 20;

fn main() {
    divan::main();
}

/// The messages that prost generates from the unmodified proto file: text is copied and checked on arrival.
#[allow(
    missing_docs,
    clippy::all,
    clippy::struct_excessive_bools,
    clippy::use_self,
    unused_qualifications,
    unreachable_pub,
    dead_code
)]
mod plain {
    include!(concat!(env!("OUT_DIR"), "/protomcp.rs"));
}

fn ours(size: usize) -> Envelope {
    let result_json = Bytes::from(text(size));
    Envelope::new("req-1234", CallToolResponse { result_json, ..CallToolResponse::default() })
}

fn peers(size: usize) -> plain::Envelope {
    let result = plain::CallToolResponse { result_json: text(size), ..plain::CallToolResponse::default() };
    let msg = Some(plain::envelope::Msg::CallResult(result));
    plain::Envelope { request_id: "req-1234".to_owned(), msg, ..plain::Envelope::default() }
}

fn text(size: usize) -> String {
    "abcdefgh".chars().cycle().take(size).collect()
}

/// The number of frames that fit in 1 MiB: small frames are measured as they usually arrive, many in one read.
fn stream(size: usize) -> (Vec<u8>, usize) {
    let count = ((1 << 20) / (size + 32)).max(1);
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(Limits::default());
    for _ in 0..count {
        encoder.encode_envelope(&ours(size), &mut bytes).expect("it is within the limits");
    }
    (bytes, count)
}

#[divan::bench(args = SIZES, sample_count = 300)]
fn decode(bencher: Bencher<'_, '_>, size: usize) {
    let (bytes, count) = stream(size);
    let mut decoder = Decoder::new(Limits::default());
    bencher
        .counter(BytesCount::new(bytes.len()))
        .counter(ItemsCount::new(count))
        .with_inputs(|| BytesMut::from(&bytes[..]))
        .bench_local_refs(|source| {
            while let Some(frame) = decoder.decode(source).expect("the frames are good") {
                black_box(frame);
            }
        });
}

#[divan::bench(args = SIZES, sample_count = 300)]
fn decode_peer(bencher: Bencher<'_, '_>, size: usize) {
    let (bytes, count) = stream(size);
    let mut codec = LengthDelimitedCodec::builder().max_frame_length(64 << 20).new_codec();
    bencher
        .counter(BytesCount::new(bytes.len()))
        .counter(ItemsCount::new(count))
        .with_inputs(|| BytesMut::from(&bytes[..]))
        .bench_local_refs(|source| {
            while let Some(frame) = codec.decode(source).expect("the frames are good") {
                black_box(plain::Envelope::decode(frame).expect("the messages are good"));
            }
        });
}

#[divan::bench(args = SIZES, sample_size = 2_000)]
fn encode(bencher: Bencher<'_, '_>, size: usize) {
    let envelope = ours(size);
    let mut encoder = Encoder::new(Limits::default());
    let mut out = Vec::with_capacity(size + 64);
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        out.clear();
        encoder.encode_envelope(black_box(&envelope), &mut out).expect("it is within the limits");
        black_box(out.len())
    });
}

#[divan::bench(args = SIZES, sample_size = 2_000)]
fn encode_peer(bencher: Bencher<'_, '_>, size: usize) {
    let envelope = peers(size);
    let mut codec = LengthDelimitedCodec::builder().max_frame_length(64 << 20).new_codec();
    let mut out = BytesMut::with_capacity(size + 64);
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        out.clear();
        let body = Bytes::from(black_box(&envelope).encode_to_vec());
        codec.encode(body, &mut out).expect("it is within the limits");
        black_box(out.len())
    });
}

#[divan::bench(sample_count = 20)]
fn decode_raw_16_mib(bencher: Bencher<'_, '_>) {
    let raw = Frame::Raw(Raw::new("req-1234", Field::ResultJson, text(RAW)));
    let mut bytes = Vec::new();
    Encoder::new(Limits::default()).encode(&raw, &mut bytes).expect("it is within the limits");
    let mut decoder = Decoder::new(Limits::default());
    bencher.counter(BytesCount::new(RAW)).with_inputs(|| BytesMut::from(&bytes[..])).bench_local_values(
        |mut source| {
            while let Some(frame) = decoder.decode(&mut source).expect("the frame is good") {
                black_box(frame);
            }
        },
    );
}

#[divan::bench(sample_count = 20)]
fn decode_16_mib_peer(bencher: Bencher<'_, '_>) {
    let body = peers(RAW).encode_to_vec();
    let mut codec = LengthDelimitedCodec::builder().max_frame_length(64 << 20).new_codec();
    let mut bytes = BytesMut::new();
    codec.encode(Bytes::from(body), &mut bytes).expect("it is within the limits");
    bencher.counter(BytesCount::new(RAW)).with_inputs(|| bytes.clone()).bench_local_values(|mut source| {
        let frame = codec.decode(&mut source).expect("the frame is good").expect("it is whole");
        black_box(plain::Envelope::decode(frame).expect("the message is good"));
    });
}

#[divan::bench(sample_count = 20)]
fn encode_raw_16_mib(bencher: Bencher<'_, '_>) {
    let raw = Raw::new("req-1234", Field::ResultJson, text(RAW));
    let mut encoder = Encoder::new(Limits::default());
    let mut out = Vec::with_capacity(RAW + 64);
    bencher.counter(BytesCount::new(RAW)).bench_local(|| {
        out.clear();
        encoder.encode_raw(black_box(&raw), &mut out).expect("it is within the limits");
        black_box(out.len())
    });
}
