//! Any bytes: the same frames however they are split, nothing beyond the limits, and what was decoded encodes to what
//! decodes to it again.
//!
//! Two bytes say how to split, the rest is the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_codec::{Encoder, Frame};
use protomcp_fuzz::codec::{decode, limits, pieces};
use protomcp_envelope::Envelope;

fuzz_target!(|input: &[u8]| {
    let Some((seed, stream)) = input.split_first_chunk() else { return };
    let frames = decode([stream]);
    assert_eq!(decode(pieces(stream, u16::from_be_bytes(*seed))), frames);
    for frame in frames.into_iter().flatten() {
        if let Frame::Raw(raw) = &frame
            && let Ok(text) = raw.clone().inflate(&limits())
        {
            assert!(text.len() as u64 <= limits().max_payload);
        }
        let mut bytes = Vec::new();
        match Encoder::new(limits()).encode(&frame, &mut bytes) {
            // Without a field that is known here it is a frame of length zero.
            Ok(()) if bytes == [0; 4] => assert_eq!(frame, Frame::Envelope(Envelope::default())),
            Ok(()) => assert_eq!(decode([&bytes[..]]), [Ok(frame)]),
            // A frame of a tighter encoding than ours may no longer fit.
            Err(_) => assert!(bytes.is_empty()),
        }
    }
});
