//! Sending a result whole, raw and in chunks.

use bytes::{Bytes, BytesMut};
use protomcp_codec::{Decoder, Encoder, Field, Frame, Limits, Sideband, chunks};
use protomcp_envelope::{CallToolResponse, Msg, StreamChunk, StreamHeader, ToolError};

/// The frames a result makes, as words, after it was checked that nothing of it is lost.
fn check(result: &CallToolResponse, sideband: &Sideband, frames: &[&str]) {
    let mut bytes = Vec::new();
    Encoder::new(Limits::default()).encode_result("c1", result.clone(), sideband, &mut bytes).unwrap();
    let (mut decoder, mut src) = (Decoder::new(Limits::default()), BytesMut::from(&bytes[..]));
    let (mut got, mut words) = (CallToolResponse::default(), Vec::new());
    let mut payload = None;
    while let Some(frame) = decoder.decode(&mut src).unwrap() {
        match frame {
            Frame::Envelope(envelope) => {
                assert_eq!(envelope.request_id, "c1");
                words.push("envelope");
                got = envelope.msg.unwrap().try_into().unwrap();
            }
            Frame::Raw(raw) => {
                assert_eq!((raw.header.request_id.as_str(), raw.field()), ("c1", Field::ResultJson));
                words.push(if raw.header.compression.is_empty() { "raw" } else { "zstd" });
                words.extend(raw.header.followed_by_result.then_some("and"));
                payload = Some(raw.inflate(&Limits::default()).unwrap());
            }
            Frame::TooLarge(frame) => panic!("{frame:?}"),
        }
    }
    if let Some(payload) = payload {
        got.result_json = payload;
    }
    assert_eq!(words, frames);
    assert_eq!(got, *result);
}

fn text(size: usize) -> CallToolResponse {
    CallToolResponse { result_json: vec![b'x'; size].into(), ..Default::default() }
}

fn sideband(raw_above: usize, compress_above: usize) -> Sideband {
    Sideband { raw_above, compress_above, with_result: false }
}

#[test]
fn a_result_above_the_threshold_is_sent_raw() {
    check(&text(100), &sideband(100, 1000), &["envelope"]);
    check(&text(101), &sideband(100, 1000), &["raw"]);
    check(&text(65_536), &Sideband::default(), &["envelope"]);
}

#[cfg(feature = "zstd")]
#[test]
fn a_raw_result_above_the_threshold_is_compressed() {
    check(&text(1000), &sideband(100, 1000), &["raw"]);
    check(&text(1001), &sideband(100, 1000), &["zstd"]);
    check(&text(65_537), &Sideband::default(), &["zstd"]);
}

#[test]
fn a_result_that_raw_would_lose_a_part_of_stays_in_its_envelope() {
    for result in more_than_text() {
        check(&result, &sideband(100, 1000), &["envelope"]);
    }
}

#[test]
fn an_able_bridge_gets_the_rest_after_the_payload() {
    for result in more_than_text() {
        check(&result, &Sideband { with_result: true, ..sideband(100, 1000) }, &["raw", "and", "envelope"]);
    }
    check(&text(200), &Sideband { with_result: true, ..sideband(100, 1000) }, &["raw"]);
}

fn more_than_text() -> [CallToolResponse; 6] {
    let text = || text(200);
    [
        CallToolResponse { is_error: true, ..text() },
        CallToolResponse { enable_tools: vec!["a".into()], ..text() },
        CallToolResponse { disable_tools: vec!["a".into()], ..text() },
        CallToolResponse { error: Some(ToolError::default()), ..text() },
        CallToolResponse { structured_content_json: "{}".into(), ..text() },
        CallToolResponse { metadata_json: "{}".into(), ..text() },
    ]
}

#[test]
fn a_result_is_written_whole_or_not_at_all() {
    let result = CallToolResponse { structured_content_json: vec![b'x'; 500].into(), ..text(200) };
    let limits = Limits { max_frame: 400, ..Limits::default() };
    let sideband = Sideband { with_result: true, ..sideband(100, 1000) };
    let mut dst = b"before".to_vec();
    Encoder::new(limits).encode_result("c1", result, &sideband, &mut dst).unwrap_err();
    assert_eq!(dst, b"before");
}

#[test]
fn thresholds_come_from_variables_and_nonsense_is_the_default() {
    assert_eq!(Sideband::from_variables(None, None), sideband(65_536, 65_536));
    assert_eq!(Sideband::from_variables(Some("1024"), Some(" 7 ")), sideband(1024, 7));
    assert_eq!(Sideband::from_variables(Some("-1"), Some("many")), sideband(65_536, 65_536));
}

#[test]
fn chunks_are_a_header_and_pieces_of_which_the_last_is_final() {
    let header =
        |total_size, chunk_size| Msg::from(StreamHeader { field_name: "result_json".into(), total_size, chunk_size });
    let chunk = |data: &'static str, last| Msg::from(StreamChunk { data: data.into(), r#final: last });
    let all = |text: &'static str, size| chunks(Field::ResultJson, Bytes::from(text), size).collect::<Vec<_>>();
    assert_eq!(all("abcde", 2), [header(5, 2), chunk("ab", false), chunk("cd", false), chunk("e", true)]);
    assert_eq!(all("abcd", 2), [header(4, 2), chunk("ab", false), chunk("cd", true)]);
    assert_eq!(all("ab", 100), [header(2, 100), chunk("ab", true)]);
    assert_eq!(all("", 100), [header(0, 100), chunk("", true)]);
    assert_eq!(all("ab", 0), [header(2, 1), chunk("a", false), chunk("b", true)]);
}
