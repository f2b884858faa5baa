//! What holds for all frames, all splits and all bytes.

#![allow(clippy::unwrap_used)]

use bytes::{Bytes, BytesMut};
use proptest::{collection::vec, prelude::*};
use protomcp_codec::{DecodeError, Decoder, Encoder, Field, Frame, Limits, Raw};
use protomcp_proto::{CallToolRequest, CallToolResponse, Envelope, ListToolsRequest, LogMessage, Msg, StreamChunk};

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
    Limits { max_frame: 20_000, max_payload: 20_000, max_skip: 1 << 16 }
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
