//! Frames that others encoded mean to us what they meant to them.
//!
//! `vectors/published.txt` was written by the published Python SDK, `vectors/extended.txt` by protoc's code for our proto
//! file; both by `scripts/golden-envelopes.py`, which also fixes what each field holds. Each message appears once with
//! every field set.

mod rest;
mod tools;

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Field, Frame, Limits};
use protomcp_envelope::{Envelope, Msg, message_name};

#[test]
fn every_message_of_the_published_sdk_round_trips() {
    let known = |msg: &Msg| !NEW.contains(&message_name(msg));
    check("published.txt", expected(false).into_iter().filter(known));
}

#[test]
fn every_message_of_the_proto_file_round_trips() {
    check("extended.txt", expected(true));
}

#[test]
fn fields_that_are_not_known_are_ignored() {
    for (name, bytes) in vectors("published.txt").into_iter().filter(|(name, _)| !STREAMS.contains(&name.as_str())) {
        // Field 99 of the envelope, a string, as some later version might add.
        let mut body = bytes[4..].to_vec();
        body.extend_from_slice(&[0x9a, 0x06, 3, b'n', b'e', b'w']);
        let mut longer = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        longer.extend_from_slice(&body);
        assert_eq!(decode(&longer), decode(&bytes), "{name}");
    }
}

#[test]
fn a_message_that_is_not_known_is_an_envelope_that_says_nothing() {
    // `list_tools` with another field number, 3999.
    let known = &vectors("published.txt")["list_tools"];
    let rest = known[4..].strip_prefix(&[0x12, 0]).expect("field 2 comes first and is empty");
    let body = [&[0xfa, 0xf9, 0x01, 0], rest].concat();
    let bytes = [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat();
    let Frame::Envelope(envelope) = decode(&bytes).remove(0) else { panic!("no envelope") };
    assert_eq!((envelope.name(), envelope.request_id), ("empty", text("Envelope.request_id")));
}

#[test]
fn a_raw_result_of_the_published_sdk_is_its_text() {
    let vectors = vectors("published.txt");
    let large = [b"\"", &b"0123456789".repeat(7000)[..], b"\""].concat();
    let plain = "[{\"type\":\"text\",\"text\":\"héllo\"}]".as_bytes().to_vec();
    let zstd = ("raw_zstd", "c2", large);
    for (name, id, text) in [("raw_plain", "c1", plain)].into_iter().chain(cfg!(feature = "zstd").then_some(zstd)) {
        let [Frame::Raw(raw)] = &decode(&vectors[name])[..] else { panic!("{name} is not one raw frame") };
        assert_eq!((raw.header.request_id.as_str(), raw.field()), (id, Field::ResultJson));
        assert_eq!(raw.clone().inflate(&Limits::default()).as_deref(), Ok(&text[..]), "{name}");
        let mut again = Vec::new();
        Encoder::new(Limits::default()).encode_raw(raw, &mut again).unwrap();
        assert_eq!(again, vectors[name], "{name}");
    }
}

#[test]
fn our_chunks_equal_the_chunks_of_the_published_sdk() {
    let text = Bytes::from("[{\"type\":\"text\",\"text\":\"héllo\"}]");
    let mut encoder = Encoder::new(Limits::default());
    let mut bytes = Vec::new();
    for msg in protomcp_codec::chunks(Field::ResultJson, text, 10) {
        encoder.encode_envelope(&Envelope::new("c3", msg), &mut bytes).unwrap();
    }
    assert_eq!(in_order(&bytes), in_order(&vectors("published.txt")["chunked"]));
}

/// Each message's vector decodes to the message, and the message encodes to the vector.
fn check(file: &str, expected: impl IntoIterator<Item = Msg>) {
    let mut vectors = vectors(file);
    for msg in expected {
        let name = message_name(&msg);
        let bytes = vectors.remove(name).unwrap_or_else(|| panic!("{file} has no {name}"));
        let envelope = Envelope {
            request_id: text("Envelope.request_id"),
            namespace: text("Envelope.namespace"),
            // The published SDK has no such field.
            msg: Some(msg),
            ..if file == "extended.txt" { rest::surroundings() } else { Envelope::default() }
        };
        assert_eq!(decode(&bytes), [Frame::Envelope(envelope.clone())], "{file}, {name}");
        let mut again = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(&envelope, &mut again).unwrap();
        assert_eq!(in_order(&again), in_order(&bytes), "{file}, {name}");
    }
    vectors.retain(|name, _| !STREAMS.contains(&name.as_str()));
    assert!(vectors.is_empty(), "{file} has more than was expected: {:?}", vectors.keys());
}

fn decode(bytes: &[u8]) -> Vec<Frame> {
    let (mut decoder, mut src) = (Decoder::new(Limits::default()), BytesMut::from(bytes));
    let frames = std::iter::from_fn(|| decoder.decode(&mut src).unwrap()).collect();
    assert!(src.is_empty());
    frames
}

/// The frames' top-level fields sorted by number. Protobuf leaves their order to the encoder: Python writes them by
/// number, prost writes a oneof where its first member would be.
fn in_order(frames: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut frames = frames;
    let mut all = Vec::new();
    while frames.has_remaining() {
        let (mut body, rest) = frames[4..].split_at(u32::from_be_bytes(*frames.first_chunk().unwrap()) as usize);
        let mut fields = Vec::new();
        while !body.is_empty() {
            let mut after = body;
            let (number, wire_type) = prost::encoding::decode_key(&mut after).unwrap();
            let context = prost::encoding::DecodeContext::default();
            prost::encoding::skip_field(wire_type, number, &mut after, context).unwrap();
            fields.push((number, &body[..body.len() - after.len()]));
            body = after;
        }
        fields.sort_by_key(|(number, _)| *number);
        all.push(fields.into_iter().map(|(_, field)| field).collect());
        frames = rest;
    }
    all
}

fn vectors(file: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/");
    let lines = std::fs::read_to_string(folder.to_owned() + file).unwrap();
    let lines = lines.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap()).map(|(name, hex)| (name.to_owned(), from_hex(hex))).collect()
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn expected(new: bool) -> Vec<Msg> {
    [tools::messages(new), rest::messages(new)].concat()
}

fn text(field: &str) -> String {
    format!("{field} é")
}

fn json(field: &str) -> Bytes {
    text(field).into()
}

fn texts(field: &str) -> Vec<String> {
    vec![text(field), text(field) + " again"]
}

fn blob(field: &str) -> Bytes {
    [&[0, 0xff], text(field).as_bytes()].concat().into()
}

/// Messages that the original protocol does not have.
const NEW: [&str; 13] = [
    "sdk_info",
    "bridge_info",
    "elicitation_request",
    "elicitation_response",
    "prompt_list_changed",
    "resource_list_changed",
    "elicitation_complete",
    "ping",
    "pong",
    "hand_over",
    "hand_over_response",
    "take_over",
    "take_over_response",
];

/// Vectors that are more than one envelope.
const STREAMS: [&str; 3] = ["raw_plain", "raw_zstd", "chunked"];
