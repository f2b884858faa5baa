//! Properties of all frames, all splits and all bytes.

use bytes::{Bytes, BytesMut};
use proptest::{collection::vec, prelude::*};
use prost::Message;
use protomcp_codec::{DecodeError, Decoder, Encoder, Field, Frame, Limits, Raw};
use protomcp_envelope::{CallToolRequest, CallToolResponse, Envelope, ListToolsRequest, LogMessage, Msg, StreamChunk};

proptest! {
    #[test]
    fn frames_survive_the_wire_however_it_splits_them(
        frames in vec(frame(), 0..8),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
        empty in vec(any::<bool>(), 8),
    ) {
        let mut encoder = Encoder::new(limits());
        let mut bytes = Vec::new();
        for (frame, empty) in frames.iter().zip(empty) {
            if empty {
                encoder.encode_empty(&mut bytes);
            }
            encoder.encode(frame, &mut bytes).unwrap();
        }
        let decoded = decode(&bytes, &cuts).into_iter().collect::<Result<Vec<_>, _>>().unwrap();
        prop_assert_eq!(decoded, frames);
    }

    #[test]
    fn any_bytes_decode_to_the_same_however_they_are_split(
        bytes in noise(),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        prop_assert_eq!(decode(&bytes, &cuts), decode(&bytes, &[]));
    }

    #[test]
    fn a_broken_frame_takes_nothing_with_it(body in vec(any::<u8>(), 1..40), frame in frame()) {
        let mut bytes = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&body);
        let mut before = decode(&bytes, &[]);
        prop_assume!(!before.iter().any(|frame| frame.as_ref().is_err_and(DecodeError::is_fatal)));
        // A raw header that happens to be valid would take the next frame as its payload, rightly.
        prop_assume!(before.len() == 1);
        Encoder::new(limits()).encode(&frame, &mut bytes).unwrap();
        before.push(Ok(frame));
        prop_assert_eq!(decode(&bytes, &[]), before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn calls_and_results_are_read_as_the_generic_decoder_reads_them(body in almost_hot()) {
        let mut bytes = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&body);
        match Envelope::decode(&body[..]) {
            Ok(envelope) => prop_assert_eq!(decode(&bytes, &[]), [Ok(Frame::Envelope(envelope))]),
            Err(_) => {
                let decoded = decode(&bytes, &[]);
                let malformed = matches!(&decoded[..], [Err(DecodeError::Malformed { .. })]);
                prop_assert!(malformed, "{decoded:?}");
            }
        }
    }
}

/// Envelopes that begin with a call or a result, with fields in any order and number, some of them wrong, some cut off.
/// None has a raw header (its key is above 0xf0), which would be a frame of another kind.
fn almost_hot() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![4 => vec(b'a'..=b'z', 0..20), 1 => vec(b'a'..=b'z', 100..300), 1 => vec(any::<u8>(), 0..6)];
    let key = prop_oneof![6 => prop::sample::select(&[0x0a, 0x12, 0x1a, 0x32][..]), 1 => any::<u8>()];
    let field = prop_oneof![
        6 => (key, value).prop_map(|(key, value)| sized(key, &value)),
        1 => (0_u8..3).prop_map(|flag| vec![0x08, flag]),
        1 => Just(vec![0x08, 0x81, 0x00]),
    ];
    let message = (prop::sample::select(&[0x1a, 0x32][..]), vec(field, 0..4))
        .prop_map(|(key, fields)| sized(key, &fields.concat()));
    let id = "[a-z0-9-]{0,12}".prop_map(|id| sized(0x72, id.as_bytes()));
    let rest = prop_oneof![8 => id, 1 => message.clone(), 1 => vec(0..0xf0_u8, 1..4)];
    (message, vec(rest, 0..3), 0..40_usize).prop_map(|(message, rest, cut)| {
        let mut body = [message, rest.concat()].concat();
        body.truncate(if cut < 4 { body.len() - cut.min(body.len() - 1) } else { body.len() });
        body
    })
}

/// A field with a length.
fn sized(key: u8, value: &[u8]) -> Vec<u8> {
    let mut field = vec![key];
    prost::encoding::encode_varint(value.len() as u64, &mut field);
    field.extend_from_slice(value);
    field
}

/// Everything the bytes decode to when they arrive cut at these places, up to a fatal error.
fn decode(bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<Result<Frame, DecodeError>> {
    let mut cuts = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect::<Vec<_>>();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let (mut decoder, mut src) = (Decoder::new(limits()), BytesMut::new());
    let mut frames = Vec::new();
    for cut in cuts.windows(2) {
        src.extend_from_slice(&bytes[cut[0]..cut[1]]);
        while let Some(frame) = decoder.decode(&mut src).transpose() {
            let fatal = frame.as_ref().is_err_and(DecodeError::is_fatal);
            frames.push(frame);
            if fatal {
                return frames;
            }
            assert!(decoder.want() > 0);
        }
    }
    frames
}

/// So small that noise gets beyond them.
fn limits() -> Limits {
    Limits { max_frame: 20_000, max_payload: 20_000, max_skip: 1 << 16, max_entries: 8 }
}

fn frame() -> impl Strategy<Value = Frame> {
    let id = ".{0,12}";
    prop_oneof![
        (id, msg()).prop_map(|(id, msg)| Frame::Envelope(Envelope::new(id, msg))),
        (id, text(), any::<bool>()).prop_map(|(id, payload, more)| {
            let mut raw = Raw::new(id, Field::ResultJson, payload);
            raw.header.followed_by_result = more;
            Frame::Raw(raw)
        }),
        Just(Frame::Raw(Raw::new("z", Field::StructuredContentJson, vec![0; 9000]).compress())),
    ]
}

fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        Just(ListToolsRequest {}.into()),
        (".{0,8}", text()).prop_map(|(name, arguments_json)| {
            CallToolRequest { name, arguments_json, ..Default::default() }.into()
        }),
        (any::<bool>(), text(), vec(".{0,5}", 0..4)).prop_map(|(is_error, result_json, enable_tools)| {
            CallToolResponse { is_error, result_json, enable_tools, ..Default::default() }.into()
        }),
        (text(), any::<bool>()).prop_map(|(data, last)| StreamChunk { data, r#final: last }.into()),
        text().prop_map(|data_json| LogMessage { data_json, ..Default::default() }.into()),
    ]
}

/// Short and long enough for both ways to take a frame out of the buffer. Not always valid text.
fn text() -> impl Strategy<Value = Bytes> {
    prop_oneof![4 => vec(any::<u8>(), 0..50), 1 => vec(any::<u8>(), 4000..9000)].prop_map(Bytes::from)
}

/// Random bytes, made of pieces that get past the first check.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let frame = frame().prop_map(|frame| {
        let mut bytes = Vec::new();
        Encoder::new(limits()).encode(&frame, &mut bytes).unwrap();
        bytes
    });
    let prefix = (0_u32..60).prop_map(|size| size.to_be_bytes().to_vec());
    let too_large = (20_001_u32..20_100).prop_map(|size| size.to_be_bytes().to_vec());
    let piece = prop_oneof![
        3 => prefix,
        1 => too_large,
        2 => frame,
        3 => vec(any::<u8>(), 0..60),
        1 => vec(Just(b'r'), 20_000..20_100),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}
