//! Any bytes: they decode to the same messages however they are split, each message decodes from what it encodes to, and
//! the first bytes of a stream keep their meaning.
//!
//! The first byte of the input sets the size of the pieces.

use bytes::BytesMut;
use protomcp_bufmcp::message::McpMessage;
use protomcp_bufmcp::{Decoder, Detection, FrameLimits, FrameTooLarge, Numbering, Unreadable, encode_with};

type Decoded = (Vec<Result<McpMessage, Unreadable>>, Option<FrameTooLarge>);

/// Checks one input.
pub(crate) fn check(input: &[u8]) {
    let Some((first, stream)) = input.split_first() else { return };
    let numbering = if first & 0x80 == 0 { Numbering::Standard } else { Numbering::Reference };
    let size = usize::from(first & 0x7f) + 1;
    let whole = decode(stream, stream.len().max(1), numbering);
    // Compared as text, because numbers in the data of an error may be NaN.
    assert_eq!(format!("{:?}", decode(stream, size, numbering)), format!("{whole:?}"));
    for message in whole.0.iter().flatten() {
        let mut bytes = Vec::new();
        encode_with(message, numbering, &limits(), &mut bytes).expect("it was within the limits");
        // A page size has no number in the other numbering, and was not read in it either.
        let again = decode(&bytes, bytes.len(), numbering);
        let once: Decoded = (vec![Ok(message.clone())], None);
        assert_eq!(format!("{again:?}"), format!("{once:?}"));
    }
    let decided = (0..=stream.len()).map(|end| Detection::of(&stream[..end])).find(|d| *d != Detection::Undecided);
    assert_eq!(decided.unwrap_or(Detection::Undecided), Detection::of(stream));
}

fn decode(stream: &[u8], size: usize, numbering: Numbering) -> Decoded {
    let mut decoder = Decoder::new(limits()).with_numbering(numbering);
    let (mut buffer, mut messages) = (BytesMut::new(), Vec::new());
    for piece in stream.chunks(size) {
        buffer.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut buffer) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
        assert!(decoder.want() >= 1 && decoder.want() <= limits().max_frame);
    }
    (messages, None)
}

fn limits() -> FrameLimits {
    FrameLimits { max_frame: 1 << 16, max_entries: 4096, setting: None }
}
