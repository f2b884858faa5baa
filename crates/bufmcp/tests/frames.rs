//! Frames: however they are split, whatever is in them.

use bytes::{BufMut, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use protomcp_bufmcp::message::{
    CallToolRequest, ErrorResponse, InitializeRequest, ListToolsRequest, McpMessage, Payload, Tool,
};
use protomcp_bufmcp::{
    Any, Decoder, FrameLimits, FrameTooLarge, Numbering, Unreadable, UnreadableKind, code, encode, encode_with,
};

type Decoded = Result<McpMessage, Unreadable>;

fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

/// Decodes a stream that arrives in these pieces.
fn decode(decoder: &mut Decoder, pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> (Vec<Decoded>, BytesMut) {
    let (mut buffer, mut messages) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        buffer.put_slice(piece.as_ref());
        while let Some(decoded) = decoder.decode(&mut buffer).expect("within the limits") {
            messages.push(decoded);
        }
        assert!(decoder.want() > 0);
    }
    (messages, buffer)
}

fn one(body: &[u8]) -> Decoded {
    let (mut messages, rest) = decode(&mut Decoder::new(FrameLimits::default()), [framed(body)]);
    assert!(rest.is_empty() && messages.len() == 1);
    messages.remove(0)
}

fn initialize(id: u64) -> McpMessage {
    let request = InitializeRequest { protocol_version: "1.0.0".into(), ..InitializeRequest::default() };
    McpMessage { id, payload: Some(Payload::InitializeRequest(request)) }
}

/// A message with exactly this many bytes.
fn of_size(size: usize) -> McpMessage {
    let with_text = |length: usize| {
        let error = ErrorResponse { message: "x".repeat(length), ..ErrorResponse::default() };
        McpMessage { id: 0, payload: Some(Payload::ErrorResponse(error)) }
    };
    let length = (size.saturating_sub(12)..size).find(|length| with_text(*length).encoded_len() == size);
    with_text(length.expect("a message has this size"))
}

#[test]
fn messages_of_every_size_round_trip() {
    let limits = FrameLimits::default();
    for size in [2, 5, 127, 128, 65_535, 1 << 20, limits.max_frame] {
        let (message, mut bytes) = (of_size(size), Vec::new());
        encode(&message, &limits, &mut bytes).unwrap();
        assert_eq!(bytes[..4], u32::try_from(size).unwrap().to_be_bytes());
        assert_eq!(bytes.len(), 4 + size);
        let (messages, rest) = decode(&mut Decoder::new(limits.clone()), [bytes]);
        assert!(messages == [Ok(message)] && rest.is_empty(), "{size}");
    }
}

#[test]
fn a_frame_beyond_the_limit_is_refused_in_both_directions() {
    let limits = FrameLimits::default();
    let too_large = FrameTooLarge { size: (32 << 20) + 1, limit: 32 << 20, setting: None };
    let mut bytes = Vec::new();
    assert_eq!(encode(&of_size(too_large.size), &limits, &mut bytes), Err(too_large));
    assert!(bytes.is_empty());
    let mut buffer = BytesMut::from(&[2, 0, 0, 1][..]);
    assert_eq!(Decoder::new(limits).decode(&mut buffer), Err(too_large));
    // No limit lets the first byte of a frame be white space of JSON.
    let generous = FrameLimits { max_frame: usize::MAX, ..FrameLimits::default() };
    let mut buffer = BytesMut::from(&[9, 0, 0, 0][..]);
    assert!(Decoder::new(generous).decode(&mut buffer).is_err());
}

#[test]
fn an_announced_size_costs_no_memory() {
    let mut decoder = Decoder::new(FrameLimits::default());
    let mut buffer = BytesMut::from(&framed(&[0; 10])[..]);
    buffer[0] = 1;
    let capacity = buffer.capacity();
    assert_eq!(decoder.decode(&mut buffer), Ok(None));
    assert_eq!(buffer.capacity(), capacity);
    assert_eq!(decoder.want(), (1 << 24));
}

#[test]
fn frames_arrive_in_single_bytes_and_many_together() {
    let messages: Vec<_> = (1..=100).map(initialize).collect();
    let mut bytes = Vec::new();
    for message in &messages {
        encode(message, &FrameLimits::default(), &mut bytes).unwrap();
    }
    let expected: Vec<_> = messages.into_iter().map(Ok).collect();
    let whole = decode(&mut Decoder::new(FrameLimits::default()), [&bytes]);
    let single = decode(&mut Decoder::new(FrameLimits::default()), bytes.chunks(1));
    assert!(whole.0 == expected && single.0 == expected);
}

#[test]
fn a_frame_without_a_message_is_answered_and_skipped() {
    let mut cut = initialize(7).encode_to_vec();
    cut.truncate(cut.len() - 1);
    for (body, id, code) in [
        (&[][..], 0, code::INVALID_REQUEST),
        (&[8, 9], 9, code::INVALID_REQUEST),
        (&[0xff], 0, code::PARSE_ERROR),
        (&[8, 5, 0xff], 5, code::PARSE_ERROR),
        // The id does not have to come first.
        (&[0x92, 0x01, 1, 0, 8, 4, 0x07], 4, code::PARSE_ERROR),
        (&cut, 7, code::PARSE_ERROR),
        // A field of version 1.0 with the wrong wire type.
        (&[8, 3, 2 << 3, 1], 3, code::PARSE_ERROR),
        // Payloads 13 and 150.
        (&[8, 6, 13 << 3 | 2, 0], 6, code::METHOD_NOT_FOUND),
        (&[8, 6, 0xb2, 9, 1, 65], 6, code::METHOD_NOT_FOUND),
    ] {
        let unreadable = one(body).expect_err("not a message");
        assert_eq!((unreadable.id, unreadable.fault().code), (id, code), "{body:?}");
    }
    let stream = [framed(&[8, 5, 0xff]), framed(&[]), framed(&initialize(2).encode_to_vec())].concat();
    let (messages, _) = decode(&mut Decoder::new(FrameLimits::default()), [stream]);
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[2], Ok(initialize(2)));
}

#[test]
fn unknown_fields_are_ignored() {
    let mut body = initialize(1).encode_to_vec();
    body.extend([15 << 3, 5, 0xa2, 0x06, 2, 1, 2]);
    // 15 is a number, and 100 is the extension that the protocol has: the last payload counts.
    body.truncate(body.len() - 5);
    assert_eq!(one(&body), Ok(initialize(1)));
    let call = CallToolRequest { name: "t".into(), ..CallToolRequest::default() };
    let mut inner = call.encode_to_vec();
    inner.extend([9 << 3 | 2, 1, 65]);
    let body = [&[8, 2, 6 << 3 | 2, u8::try_from(inner.len()).unwrap()], &inner[..]].concat();
    assert_eq!(one(&body), Ok(McpMessage { id: 2, payload: Some(Payload::CallToolRequest(call)) }));
}

#[test]
fn a_message_is_bounded_by_what_it_decodes_to() {
    let limits = FrameLimits { max_entries: 1000, ..FrameLimits::default() };
    for (count, fits) in [(1000, true), (1001, false)] {
        let request = ListToolsRequest { bsr_refs: vec![String::new(); count], ..ListToolsRequest::default() };
        let message = McpMessage { id: 3, payload: Some(Payload::ListToolsRequest(request)) };
        let (messages, _) = decode(&mut Decoder::new(limits.clone()), [framed(&message.encode_to_vec())]);
        match &messages[0] {
            Ok(decoded) => assert!(fits && *decoded == message),
            Err(unreadable) => {
                assert!(!fits && unreadable.id == 3 && unreadable.kind == UnreadableKind::TooManyEntries);
            }
        }
    }
    // Data of an error that nests without end.
    let nested = (0..50_001).fold(Vec::new(), |inner, level| {
        // A struct in a value in an entry of a struct.
        let field = [5, 2, 1][level % 3] << 3 | 2;
        [&[field][..], &varint(inner.len()), &inner].concat()
    });
    let error = [&[3 << 3 | 2][..], &varint(nested.len()), &nested].concat();
    let body = [&[12 << 3 | 2][..], &varint(error.len()), &error].concat();
    assert!(one(&body).unwrap_err().is_garbage());
}

fn varint(value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(value as u64, &mut bytes);
    bytes
}

#[test]
fn large_values_are_slices_of_their_frame() {
    let arguments = Any::new("a.B", vec![7; 100_000]);
    let call = CallToolRequest { name: "t".into(), arguments: Some(arguments), ..CallToolRequest::default() };
    let message = McpMessage { id: 1, payload: Some(Payload::CallToolRequest(call)) };
    let mut buffer = BytesMut::from(&framed(&message.encode_to_vec())[..]);
    let range = buffer.as_ptr_range();
    let decoded = Decoder::new(FrameLimits::default()).decode(&mut buffer).unwrap().unwrap().unwrap();
    let Some(Payload::CallToolRequest(call)) = decoded.payload else { panic!("another message") };
    assert!(range.contains(&call.arguments.unwrap().value.as_ptr()));
}

fn list_tools() -> McpMessage {
    let request = ListToolsRequest {
        bsr_refs: vec!["buf.build/a/b/c.D:v1".into()],
        include_schemas: true,
        cursor: "next".into(),
        ..ListToolsRequest::default()
    };
    McpMessage { id: 300, payload: Some(Payload::ListToolsRequest(request)) }
}

#[test]
fn requests_for_lists_are_read_in_the_numbers_that_are_set() {
    let limits = FrameLimits::default();
    let mut message = list_tools();
    if let Some(Payload::ListToolsRequest(request)) = &mut message.payload {
        request.query = "search".into();
    }
    let mut bytes = Vec::new();
    encode_with(&message, Numbering::Reference, &limits, &mut bytes).unwrap();
    // Field 1 of the inner message is the query.
    assert_eq!(
        bytes[4..],
        [&[8, 0xac, 2, 0x22, 38, 0x0a, 6][..], b"search\x12\x14buf.build/a/b/c.D:v1\x18\x01\x22\x04next"].concat()
    );
    let mut decoder = Decoder::new(limits.clone()).with_numbering(Numbering::Reference);
    assert_eq!(decode(&mut decoder, [&bytes]).0, [Ok(message)]);
    // Other messages are the same in both.
    let mut bytes = Vec::new();
    encode_with(&initialize(1), Numbering::Reference, &limits, &mut bytes).unwrap();
    assert_eq!(decode(&mut decoder, [&bytes]).0, [Ok(initialize(1))]);
}

#[test]
fn other_numbers_without_the_setting_are_reported() {
    let mut bytes = Vec::new();
    encode_with(&list_tools(), Numbering::Reference, &FrameLimits::default(), &mut bytes).unwrap();
    let unreadable = one(&bytes[4..]).unwrap_err();
    assert_eq!(unreadable.id, 300);
    assert!(unreadable.fault().message.contains("proto-mcp-go"), "{unreadable:?}");
}

#[test]
fn most_of_a_frame_may_be_unknown_and_is_not_kept() {
    let mut body =
        McpMessage { id: 1, payload: Some(Payload::CallToolRequest(CallToolRequest::default())) }.encode_to_vec();
    let inner = [&[9 << 3 | 2][..], &varint(100_000), &[0; 100_000]].concat();
    body.truncate(body.len() - 1);
    body.extend([&varint(inner.len())[..], &inner].concat());
    assert!(one(&body).is_ok());
}

proptest! {
    #[test]
    fn any_split_of_a_stream_gives_the_same_messages(
        bodies in vec(vec(any::<u8>(), 0..40), 0..8),
        cuts in vec(1_usize..20, 1..40),
    ) {
        let stream: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
        let limits = FrameLimits::default();
        let whole = decode(&mut Decoder::new(limits.clone()), [&stream]).0;
        let (mut rest, mut pieces) = (&stream[..], Vec::new());
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        prop_assert_eq!(whole.len(), bodies.len());
        prop_assert_eq!(&decode(&mut Decoder::new(limits), pieces).0, &whole);
    }

    #[test]
    fn what_is_written_is_read(id: u64, name: String, description: String, keys in vec(".{0,5}", 0..4)) {
        let metadata = keys.into_iter().map(|key| (key, name.clone())).collect();
        let tool = Tool { name, description, metadata, ..Tool::default() };
        let response = protomcp_bufmcp::message::ListToolsResponse { tools: vec![tool.clone(), tool], next_cursor: String::new() };
        let message = McpMessage { id, payload: Some(Payload::ListToolsResponse(response)) };
        prop_assert_eq!(one(&message.encode_to_vec()), Ok(message));
    }
}
