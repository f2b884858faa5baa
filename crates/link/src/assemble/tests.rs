//! Pieces and the answers they become, with the bytes held at each step.

use bytes::Bytes;

use super::*;
use crate::id::CallIds;

fn calls<const N: usize>() -> [CallId; N] {
    let ids = CallIds::default();
    std::array::from_fn(|_| ids.next())
}

fn header(name: &str, total_size: u64) -> StreamHeader {
    StreamHeader { field_name: name.into(), total_size, chunk_size: 4 }
}

fn chunk(text: &'static str, last: bool) -> StreamChunk {
    StreamChunk { data: Bytes::from_static(text.as_bytes()), r#final: last }
}

fn raw(field: Field, text: &'static str) -> Raw {
    Raw::new("req-0", field, text)
}

/// Describes the effect of a chunk in a word or two.
fn outcome(chunk: Chunk) -> String {
    match chunk {
        Chunk::More => "more".into(),
        Chunk::Headless => "headless".into(),
        Chunk::Complete(raw) => format!("{}: {}", raw.field(), String::from_utf8(raw.payload.to_vec()).unwrap()),
        Chunk::Failed(error) => error.to_string(),
    }
}

#[test]
fn chunks_of_interleaved_calls_become_one_result_each() {
    let [a, b] = calls();
    let mut assembler = Assembler::new(100, 100);
    assembler.header(a, &header("result_json", 0)).unwrap();
    assembler.header(b, &header("structured_content_json", 9)).unwrap();
    assert_eq!(outcome(assembler.chunk(a, &chunk("on", false))), "more");
    assert_eq!(outcome(assembler.chunk(b, &chunk("{", false))), "more");
    assert_eq!(assembler.held(), 3);
    assert_eq!(outcome(assembler.chunk(a, &chunk("e", true))), "result_json: one");
    assert_eq!(assembler.held(), 1);
    assert_eq!(outcome(assembler.chunk(b, &chunk("}", true))), "structured_content_json: {}");
    assert_eq!(assembler.held(), 0);
}

#[test]
fn a_chunk_without_a_header_is_dropped() {
    let [call] = calls();
    assert_eq!(outcome(Assembler::new(10, 10).chunk(call, &chunk("x", true))), "headless");
}

#[test]
fn a_second_header_starts_over() {
    let [call] = calls();
    let mut assembler = Assembler::new(10, 10);
    assembler.header(call, &header("result_json", 0)).unwrap();
    assembler.chunk(call, &chunk("old", false));
    assembler.header(call, &header("result_json", 0)).unwrap();
    assert_eq!(assembler.held(), 0);
    assert_eq!(outcome(assembler.chunk(call, &chunk("new", true))), "result_json: new");
}

#[test]
fn an_announced_size_allocates_nothing() {
    let [a, b] = calls();
    let mut assembler = Assembler::new(5, 7);
    assembler.header(a, &header("result_json", u64::MAX)).unwrap();
    assert_eq!(outcome(assembler.chunk(a, &chunk("12345", false))), "more");
    assert_eq!(outcome(assembler.chunk(a, &chunk("6", false))), "the answer has 6 bytes, more than the limit of 5");
    assert_eq!(assembler.held(), 0);

    assembler.header(a, &header("result_json", 0)).unwrap();
    assembler.header(b, &header("result_json", 0)).unwrap();
    assert_eq!(outcome(assembler.chunk(a, &chunk("1234", false))), "more");
    assert_eq!(outcome(assembler.chunk(b, &chunk("123", false))), "more");
    assert_eq!(outcome(assembler.chunk(b, &chunk("4", false))), "the answer has 8 bytes, more than the limit of 7");
    assert_eq!(assembler.held(), 4, "only the call that broke the bound is given up");
    assert_eq!(outcome(assembler.chunk(a, &chunk("5", true))), "result_json: 12345");
}

#[test]
fn an_unknown_field_fails_the_call_by_name() {
    let [call] = calls();
    let mut assembler = Assembler::new(10, 10);
    let long = "n".repeat(10_000);
    for (name, said) in [("novel", "novel"), (&long, &long[..256])] {
        let expected = format!("the tool process sent a large value for an unknown field \"{said}\"");
        assert_eq!(assembler.header(call, &header(name, 0)).unwrap_err().to_string(), expected);
        assert_eq!(assembler.keep(call, raw(Field::Other(name.into()), "x")).unwrap_err().to_string(), expected);
        assert_eq!(outcome(assembler.chunk(call, &chunk("x", true))), "headless");
    }
}

#[test]
fn a_complete_result_ends_an_open_assembly() {
    let [call] = calls();
    let mut assembler = Assembler::new(10, 10);
    assembler.header(call, &header("result_json", 0)).unwrap();
    assembler.chunk(call, &chunk("x", false));
    assert_eq!(assembler.finish(call), []);
    assert_eq!(assembler.held(), 0);
    assert_eq!(outcome(assembler.chunk(call, &chunk("y", true))), "headless");
}

#[test]
fn payloads_are_kept_one_per_field_until_the_result_comes() {
    let [call, other] = calls();
    let mut assembler = Assembler::new(100, 100);
    assembler.keep(call, raw(Field::ResultJson, "first")).unwrap();
    assembler.keep(call, raw(Field::StructuredContentJson, "{}")).unwrap();
    assembler.keep(call, raw(Field::ResultJson, "second")).unwrap();
    assert_eq!(assembler.held(), "second{}".len() + 2 * "req-0".len());
    assert_eq!(assembler.finish(other), []);
    assert_eq!(assembler.finish(call), [raw(Field::StructuredContentJson, "{}"), raw(Field::ResultJson, "second")]);
    assert_eq!(assembler.held(), 0);
}

#[test]
fn kept_payloads_count_with_their_headers() {
    let [a, b] = calls();
    let mut assembler = Assembler::new(100, 20);
    assembler.keep(a, raw(Field::ResultJson, "12345")).unwrap();
    assembler.keep(b, raw(Field::ResultJson, "12345")).unwrap();
    let error = assembler.keep(b, raw(Field::StructuredContentJson, "")).unwrap_err();
    assert_eq!(error.to_string(), "the answer has 25 bytes, more than the limit of 20");
    assert_eq!(assembler.held(), 10, "the other call's payload is still kept");

    let mut named = raw(Field::ResultJson, "");
    named.header.compression = "z".repeat(11);
    assert!(assembler.keep(b, named).is_err(), "11 bytes of a name and 5 of an id are more than the 10 left");
}

#[test]
fn clearing_forgets_everything() {
    let [a, b] = calls();
    let mut assembler = Assembler::new(10, 10);
    assembler.header(a, &header("result_json", 0)).unwrap();
    assembler.chunk(a, &chunk("x", false));
    assembler.keep(b, raw(Field::ResultJson, "")).unwrap();
    assembler.clear();
    assert_eq!(assembler.held(), 0);
    assert_eq!(assembler.finish(b), []);
}
