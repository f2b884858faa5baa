//! The vectors of the envelope protocol: bytes next to JSON, for any implementation (`conformance/vectors/README.md`).

mod conversation;
mod form;

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use form::Form;
use prost::Message;
use protomcp_codec::{DecodeError, Decoder, Frame, Limits, TooLarge, TooLargeKind};
use protomcp_envelope::{CallToolRequest, Envelope, Msg};
use protomcp_link::{CallError, CallIds, Config, Connection, Event, Side};
use serde_json::{Value, json};

/// The vectors of a file.
fn vectors(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vectors").join(file);
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

fn name(vector: &Value) -> &str {
    vector["name"].as_str().unwrap()
}

/// The bytes of a vector or step, in hexadecimal digits.
fn bytes(vector: &Value) -> Vec<u8> {
    let digits = vector["bytes"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The bytes as a frame, with their length.
fn framed(envelope: &[u8]) -> Vec<u8> {
    let length = u32::try_from(envelope.len()).unwrap();
    [&length.to_be_bytes(), envelope].concat()
}

/// The limits of a vector; those that it does not name are the default.
fn limits(vector: &Value) -> Limits {
    let mut limits = Limits::default();
    let size = |name: &str| vector["limits"][name].as_u64();
    let count = |name: &str| size(name).map(|size| usize::try_from(size).unwrap());
    limits.max_frame = count("max_frame").unwrap_or(limits.max_frame);
    limits.max_payload = size("max_payload").unwrap_or(limits.max_payload);
    limits.max_skip = size("max_skip").unwrap_or(limits.max_skip);
    limits.max_entries = count("max_entries").unwrap_or(limits.max_entries);
    limits
}

/// A frame, or the reason why there is none, as the vectors write it.
fn found(form: &Form, frame: Result<Frame, DecodeError>) -> Value {
    match frame {
        Ok(Frame::Envelope(envelope)) => json!({"envelope": form.json("Envelope", &envelope)}),
        Ok(Frame::Raw(raw)) => {
            json!({"raw": form.json("RawHeader", &raw.header), "payload": form::base64(&raw.payload)})
        }
        Ok(Frame::TooLarge(TooLarge { size, request_id, message, kind })) => {
            let unit = match kind {
                TooLargeKind::Envelope => "envelope",
                TooLargeKind::Payload => "payload",
            };
            let size = size.to_string();
            json!({"too_large": {"size": size, "unit": unit, "request_id": request_id, "message": message}})
        }
        Err(DecodeError::Malformed { request_id, message, .. }) => {
            json!({"malformed": {"request_id": request_id, "message": message}})
        }
        Err(DecodeError::TooManyEntries { request_id, message, .. }) => {
            json!({"too_many_entries": {"request_id": request_id, "message": message}})
        }
        Err(other) => panic!("{other}"),
    }
}

/// The frames in a stream that arrives in pieces of this size, and the state at its end.
fn read(form: &Form, stream: &[u8], limits: &Limits, piece: usize) -> (Vec<Value>, &'static str) {
    let (mut decoder, mut src, mut frames) = (Decoder::new(limits.clone()), BytesMut::new(), Vec::new());
    let mut inside = false;
    for piece in stream.chunks(piece) {
        src.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut src) {
                Ok(None) => break inside = !src.is_empty() || decoder.want() != PREFIX,
                Ok(Some(frame)) => frames.push(found(form, Ok(frame))),
                Err(error) if error.is_fatal() => return (frames, "lost"),
                Err(error) => frames.push(found(form, Err(error))),
            }
        }
    }
    (frames, if inside { "inside" } else { "between" })
}

/// The bytes that are wanted between two frames.
const PREFIX: usize = 4;

#[test]
fn envelopes_are_read_and_written() {
    let form = Form::new();
    let vectors = vectors("envelopes.json");
    let mut kinds = std::collections::BTreeSet::new();
    for vector in &vectors {
        let bytes = bytes(vector);
        let (got, end) = read(&form, &framed(&bytes), &Limits::default(), usize::MAX);
        let name = name(vector);
        if vector["malformed"].is_object() {
            assert_eq!(got, [json!({"malformed": vector["malformed"]})], "{name}");
            continue;
        }
        if got.is_empty() {
            // A raw header waits for its payload, and an empty envelope is none.
            assert!(end == "inside" || bytes.is_empty(), "{name}");
        } else {
            assert_eq!(got, [json!({"envelope": vector["envelope"]})], "{name}");
        }
        let envelope = Envelope::decode(&bytes[..]).unwrap();
        kinds.insert(envelope.name());
        assert_eq!(form.json("Envelope", &envelope), vector["envelope"], "{name}");
        if !vector["read_only"].as_bool().unwrap_or_default() {
            // The order of fields is free, so the bytes of this writer are compared in the order of their numbers.
            assert_eq!(form.canonical(&envelope), bytes, "{name}");
            assert_eq!(envelope.encoded_len(), bytes.len(), "{name}");
        }
    }
    assert_eq!(kinds.len(), 59, "every kind of message has a vector, and so has none");
}

#[test]
fn a_changed_byte_of_an_envelope_is_noticed() {
    let form = Form::new();
    for vector in vectors("envelopes.json").iter().filter(|vector| vector["malformed"].is_null()) {
        let bytes = bytes(vector);
        if vector["read_only"].as_bool().unwrap_or_default() {
            continue;
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let read = Envelope::decode(&changed[..]);
            let same = read.is_ok_and(|envelope| {
                form.json("Envelope", &envelope) == vector["envelope"] && form.canonical(&envelope) == changed
            });
            assert!(!same, "{}: byte {at}", name(vector));
        }
    }
}

#[test]
fn streams_are_split_into_frames() {
    let form = Form::new();
    for vector in vectors("frames.json") {
        let (stream, limits) = (bytes(&vector), limits(&vector));
        for piece in [usize::MAX, 1, 7] {
            let (frames, end) = read(&form, &stream, &limits, piece);
            assert_eq!(frames, *vector["frames"].as_array().unwrap(), "{}, {piece}", name(&vector));
            assert_eq!(end, vector["end"], "{}, {piece}", name(&vector));
        }
    }
}

#[test]
fn results_are_put_together() {
    let form = Form::new();
    for vector in vectors("results.json") {
        let config = Config { limits: limits(&vector), ..Config::default() };
        let (now, ids) = (Instant::now(), CallIds::default());
        let mut bridge = Connection::new(Side::Bridge, config.clone(), ids.clone());
        for _ in 0..2 {
            bridge.call(now, ids.next(), CallToolRequest::default().into(), Duration::MAX);
        }
        bridge.handle_bytes(now, &mut BytesMut::from(&bytes(&vector)[..])).unwrap();
        let mut outcomes = json!({"req-0": null, "req-1": null});
        while let Some(event) = bridge.poll_event() {
            if let Event::Answer { call, outcome } = event {
                let outcome = outcome.and_then(|answer| answer.finish(&config.limits));
                outcomes[call.to_string()] = match outcome {
                    Ok(Msg::CallResult(result)) => json!({"result": form.json("CallToolResponse", &result)}),
                    Ok(Msg::CreateTask(task)) => json!({"task": task.task_id}),
                    Ok(other) => panic!("{}: {other:?}", name(&vector)),
                    Err(error) => json!({"error": word(&error)}),
                };
            }
        }
        for (call, wanted) in vector["results"].as_object().unwrap() {
            assert_eq!(outcomes[call], *wanted, "{}: {call}", name(&vector));
        }
    }
}

/// The word of the vectors for an error.
fn word(error: &CallError) -> &'static str {
    match error {
        CallError::UnknownField(_) => "unknown_field",
        CallError::Payload(_) => "payload",
        CallError::AnswerTooLarge { .. } => "too_large",
        CallError::TooManyEntries { .. } => "too_many_entries",
        CallError::Malformed(_) => "malformed",
        other => panic!("{other}"),
    }
}
