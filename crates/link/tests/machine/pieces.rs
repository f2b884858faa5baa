//! Answers that arrive in pieces: chunks and raw payloads. Checklist items 6 to 12.

use protomcp_codec::{Field, Limits, Raw, chunks};
use protomcp_envelope::{CallToolResponse, StreamChunk, StreamHeader};
use protomcp_link::{Config, Event};

use super::talk::{SECOND, Talk, result};

fn called(calls: usize) -> Talk {
    called_with(calls, Config::default())
}

fn called_with(calls: usize, config: Config) -> Talk {
    let mut talk = Talk::ready_with(config);
    for _ in 0..calls {
        talk.call(SECOND);
    }
    talk.wrote(&["call_tool[req-1]", "call_tool[req-2]", "call_tool[req-3]"][..calls]);
    talk
}

fn header(field: &str, total_size: u64) -> StreamHeader {
    StreamHeader { field_name: field.into(), total_size, chunk_size: 4 }
}

fn chunk(text: &'static str, last: bool) -> StreamChunk {
    StreamChunk { data: text.into(), r#final: last }
}

fn text(text: &'static str) -> Raw {
    Raw::new("req-1", Field::ResultJson, text)
}

fn announced(field: Field, text: &'static str) -> Raw {
    let mut raw = Raw::new("req-1", field, text);
    raw.header.followed_by_result = true;
    raw
}

#[test]
fn chunks_of_several_calls_may_interleave() {
    let mut talk = called(2);
    talk.hears("req-1", header("result_json", 0));
    talk.hears("req-2", header("structured_content_json", 2));
    talk.hears("req-1", chunk("on", false));
    talk.hears("req-2", chunk("{", false));
    talk.hears("req-1", chunk("", false));
    talk.hears("req-2", chunk("}", true));
    talk.hears("req-1", chunk("e", true));
    talk.happened(&["req-2: result structured {}", "req-1: result text one"]);
    assert_eq!(talk.connection.buffered(), 0);
}

#[test]
fn what_the_codec_cuts_up_is_put_together_again() {
    for (size, chunk_size) in [(0, 7), (1, 7), (7, 7), (8, 7), (100_000, 65_536)] {
        let mut talk = called(1);
        for message in chunks(Field::ResultJson, vec![b'x'; size].into(), chunk_size) {
            talk.hears("req-1", message);
        }
        let Some(Event::Answer { outcome: Ok(answer), .. }) = talk.connection.poll_event() else { panic!("{size}") };
        let whole = CallToolResponse { result_json: vec![b'x'; size].into(), ..Default::default() };
        assert_eq!(answer.finish(&Limits::default()).unwrap(), whole.into(), "{size}");
    }
}

#[test]
fn a_chunk_without_a_header_is_noticed_and_dropped() {
    let mut talk = called(1);
    talk.hears("req-1", chunk("stray", true));
    talk.happened(&["unexpected stream_chunk"]);
    talk.hears("req-1", result("fine"));
    talk.happened(&["req-1: result text fine"]);
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_the_answer() {
    let mut talk = called(1);
    talk.hears("req-1", header("result_json", 0));
    talk.hears("req-1", chunk("half of", false));
    talk.hears("req-1", CallToolResponse { is_error: true, ..result("it broke") });
    talk.hears("req-1", chunk(" it", true));
    talk.happened(&["req-1: result text it broke is an error", "late stream_chunk[req-1]"]);
    assert_eq!(talk.connection.buffered(), 0);
}

#[test]
fn a_field_that_no_result_has_fails_the_call_by_name() {
    let mut announced_raw = text("?");
    announced_raw.header.field_name = "novel".into();
    for way in ["chunks", "raw", "raw with result"] {
        let mut talk = called(1);
        announced_raw.header.followed_by_result = way == "raw with result";
        match way {
            "chunks" => talk.hears("req-1", header("novel", 0)),
            _ => talk.hears_raw(&announced_raw),
        }
        talk.happened(&["req-1 failed: the tool process sent a large value for an unknown field \"novel\""]);
    }
}

#[test]
fn a_raw_payload_is_the_whole_result() {
    let mut talk = called(1);
    talk.hears_raw(&text("hello"));
    talk.happened(&["req-1: result text hello"]);
    talk.passes(60 * SECOND);
    talk.is_quiet();
}

#[test]
fn a_compressed_payload_is_inflated_with_and_without_a_size() {
    let long = Raw::new("req-1", Field::ResultJson, vec![b'x'; 200_000]).compress();
    assert!(long.payload.len() < 1000);
    for declared in [200_000, 0] {
        let mut talk = called(1);
        let mut raw = long.clone();
        raw.header.uncompressed_size = declared;
        talk.hears_raw(&raw);
        talk.happened(&["req-1: result text of 200000 bytes"]);
    }
}

#[test]
fn a_payload_that_cannot_be_inflated_fails_only_its_call() {
    let bomb = Raw::new("", Field::ResultJson, vec![0; 5 << 20]).compress();
    let mut unknown = text("?");
    unknown.header.compression = "brotli".into();
    let mut damaged = text("no zstd");
    damaged.header.compression = "zstd".into();
    let declaring = |size| {
        let mut raw = bomb.clone();
        raw.header.request_id = "req-1".into();
        raw.header.uncompressed_size = size;
        raw
    };
    let limit = "the payload inflates to more than the limit of 1048576 bytes";
    let size = |size: u64| format!("the payload does not inflate to the {size} bytes its header declares");
    let table = [
        ("an unknown name", unknown, "unknown compression \"brotli\"".to_owned()),
        ("damage", damaged, "the payload cannot be inflated".to_owned()),
        ("a bomb that says nothing", declaring(0), limit.to_owned()),
        ("a bomb that says so", declaring(5 << 20), limit.to_owned()),
        ("a bomb that calls itself small", declaring(10), size(10)),
        ("an absurd size", declaring(u64::MAX), limit.to_owned()),
    ];
    for (what, raw, reason) in table {
        let limits = Limits { max_payload: 1 << 20, ..Limits::default() };
        let mut talk = called_with(2, Config { limits, ..Config::default() });
        talk.hears_raw(&raw);
        let events = talk.events();
        let expected = format!("req-1 failed: the answer's payload is unusable: {reason}");
        assert!(events.len() == 1 && events[0].starts_with(&expected), "{what}: {events:?}");
        talk.hears("req-2", result("fine"));
        talk.happened(&["req-2: result text fine"]);
    }
}

#[test]
fn an_absurd_announcement_ends_the_link_without_allocating() {
    let mut talk = called(1);
    let mut header = text("").header;
    header.size = u64::MAX;
    let mut bytes = Vec::new();
    let envelope = protomcp_envelope::Envelope::new("", header);
    protomcp_codec::Encoder::new(Limits::default()).encode_envelope(&envelope, &mut bytes).unwrap();
    let error = talk.reads(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "18446744073709551615 bytes are announced, more than the 4294967296 that are read past"
    );
    assert_eq!(talk.connection.buffered(), 0);
}

#[test]
fn a_payload_with_a_result_behind_it_loses_nothing() {
    let rest = CallToolResponse { is_error: true, enable_tools: vec!["next".into()], ..Default::default() };
    let mut talk = called(2);
    talk.hears_raw(&announced(Field::ResultJson, "long text"));
    talk.happened(&[]);
    talk.hears_raw(&announced(Field::StructuredContentJson, "{\"long\":1}"));
    talk.hears("req-2", result("in between"));
    talk.hears("req-1", rest);
    talk.happened(&[
        "req-2: result text in between",
        "req-1: result text long text structured {\"long\":1} is an error enables next",
    ]);
    assert_eq!(talk.connection.buffered(), 0);
}

#[test]
fn a_last_payload_without_a_result_brings_those_before_it_along() {
    let mut talk = called(1);
    talk.hears_raw(&announced(Field::StructuredContentJson, "{}"));
    talk.hears_raw(&text("last"));
    talk.happened(&["req-1: result text last structured {}"]);
    assert_eq!(talk.connection.buffered(), 0);
}

#[test]
fn a_payload_of_a_call_that_ends_is_forgotten() {
    for way in ["cancel", "timeout", "close"] {
        let mut talk = called(1);
        talk.hears_raw(&announced(Field::ResultJson, "kept for a while"));
        assert!(talk.connection.buffered() > 0);
        match way {
            "cancel" => {
                let ids = protomcp_link::CallIds::default();
                ids.next();
                talk.connection.cancel(ids.next());
                talk.wrote(&["cancel(req-1)[]"]);
            }
            "timeout" => {
                talk.passes(SECOND);
                talk.wrote(&["cancel(req-1)[]"]);
            }
            _ => talk.connection.close(protomcp_link::Closed::ByPeer),
        }
        assert_eq!(talk.connection.buffered(), 0, "{way}");
    }
}

#[test]
fn a_flood_of_chunks_fails_only_its_call() {
    let config = || Config {
        limits: Limits { max_payload: 1000, ..Limits::default() },
        max_assembling: 1500,
        ..Config::default()
    };
    let flood = || StreamChunk { data: vec![b'x'; 100].into(), r#final: false };

    let mut talk = called_with(3, config());
    talk.hears("req-1", header("result_json", u64::MAX));
    talk.hears("req-2", header("result_json", 3));
    talk.hears("req-2", chunk("a", false));
    for _ in 0..100 {
        talk.hears("req-1", flood());
        assert!(talk.connection.buffered() <= 1500);
    }
    talk.hears("req-2", chunk("b", true));
    let events = talk.events();
    assert_eq!(events[0], "req-1 failed: the answer has 1100 bytes, more than the limit of 1000");
    assert_eq!(events.iter().filter(|line| *line == "late stream_chunk[req-1]").count(), 89);
    assert_eq!(events.last().unwrap(), "req-2: result text ab");

    // Each within its own limit, together not.
    let mut talk = called_with(3, config());
    for call in ["req-1", "req-2", "req-3"] {
        talk.hears(call, header("result_json", 0));
        for _ in 0..6 {
            talk.hears(call, flood());
        }
    }
    assert_eq!(talk.connection.buffered(), 1200);
    let events = talk.events();
    assert_eq!(events[0], "req-3 failed: the answer has 1600 bytes, more than the limit of 1500");
}

#[test]
fn a_complete_payload_is_not_counted_as_incomplete() {
    let mut talk = called_with(2, Config { max_assembling: 10, ..Config::default() });
    talk.hears_raw(&announced(Field::ResultJson, "too long to keep"));
    talk.happened(&["req-1 failed: the answer has 21 bytes, more than the limit of 10"]);
    let mut raw = text("too long to keep");
    raw.header.request_id = "req-2".into();
    talk.hears_raw(&raw);
    talk.happened(&["req-2: result text too long to keep"]);
}

#[test]
fn an_answer_says_beforehand_how_much_it_inflates_to() {
    let long = Raw::new("req-1", Field::ResultJson, vec![b'x'; 5000]).compress();
    let undeclared = {
        let mut raw = long.clone();
        raw.header.uncompressed_size = 0;
        raw
    };
    for (raw, expected) in [(&text("plain"), 0), (&long, 5000), (&undeclared, u64::MAX)] {
        let mut talk = called(1);
        talk.hears_raw(raw);
        let Some(Event::Answer { outcome: Ok(answer), .. }) = talk.connection.poll_event() else { panic!() };
        assert_eq!(answer.inflated_size(), expected);
    }
}
