//! Checks that `bytes` and `frames` make on a stream.

use bytes::BytesMut;
use protomcp_codec::{DecodeError, Decoder, Frame, Limits};

/// So small that a short input gets beyond each of them.
pub fn limits() -> Limits {
    Limits { max_frame: 1200, max_payload: 1500, max_skip: 4000, max_entries: 20 }
}

/// Everything the bytes decode to when they arrive in these pieces, up to a fatal error. Panics when the decoder takes more
/// memory than the limits allow or leaves something behind.
pub fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<Frame, DecodeError>> {
    let (mut decoder, mut src) = (Decoder::new(limits()), BytesMut::new());
    let mut frames = Vec::new();
    for piece in pieces {
        // A driver does the same: space for what is missing, then what there is.
        let want = decoder.want();
        assert!((1..=64 << 10).contains(&want));
        src.reserve(want.max(piece.len()));
        src.extend_from_slice(piece);
        while let Some(frame) = decoder.decode(&mut src).transpose() {
            let fatal = frame.as_ref().is_err_and(DecodeError::is_fatal);
            frames.push(frame);
            if fatal {
                return frames;
            }
        }
        // The rest is less than one frame.
        assert!(src.len() < 4 + limits().max_frame.max(limits().max_payload as usize));
    }
    frames
}

/// Cuts bytes into pieces whose lengths follow from a seed: mostly short ones, so that cuts fall everywhere.
pub fn pieces(bytes: &[u8], seed: u16) -> Vec<&[u8]> {
    let mut state = u64::from(seed) | 1 << 32;
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        // Knuth's generator is random enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let most = if state >> 62 == 0 { 2000 } else { 7 };
        let length = 1 + (state >> 33) as usize % most;
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
