//! Messages of WebSocket and frames of proto-mcp: the rules, without I/O.
//!
//! Version 1.0 says that a WebSocket message has the framing of stdio, and that it contains one `MCPMessage`. Peers read
//! that as a message with the length prefix or as one without it. The first byte tells the two apart: a message without
//! prefix begins with the key of a field, 8 or more, and the prefix of a frame below 128 MiB with 7 or less.

use bytes::buf::Chain;
use bytes::{Buf, Bytes, BytesMut};
use protomcp_codec::Delimited;

/// The form of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The length in four bytes, and the `MCPMessage`.
    Prefixed,
    /// The `MCPMessage` alone.
    Bare,
}

/// The least first byte of a message without prefix: the key of field 1.
const LEAST_KEY: u8 = 1 << 3;

/// The most bytes of a message that are sent in one piece, as a fragment.
pub(crate) const PIECE: usize = 64 << 10;

/// The most bytes of a connection that are ready to be written: a piece that waits, and one more or as many pongs.
pub(crate) const MAX_UNWRITTEN: usize = 2 * PIECE;

/// A frame for the stream of a conversation.
pub(crate) type InboundFrame = Chain<Bytes, Bytes>;

/// The frame of a message of the peer, and the form of the message; an empty one has no form.
///
/// A message whose prefix does not fit its size, because another message follows for example, becomes the body of a
/// frame: that is not an `MCPMessage` and gets −32700.
pub(crate) fn frame(message: Bytes) -> (InboundFrame, Option<Form>) {
    let form = message.first().map(|first| if *first < LEAST_KEY { Form::Prefixed } else { Form::Bare });
    let announced = length(&message).map(|size| size + Delimited::PREFIX);
    let is_frame = form == Some(Form::Prefixed) && announced == Some(message.len());
    let prefix = match u32::try_from(message.len()) {
        Ok(size) if !is_frame => Bytes::copy_from_slice(&size.to_be_bytes()),
        _ => Bytes::new(),
    };
    (prefix.chain(message), form)
}

/// The length that a prefix announces.
fn length(bytes: &[u8]) -> Option<usize> {
    let prefix = bytes.first_chunk::<{ Delimited::PREFIX }>()?;
    usize::try_from(u32::from_be_bytes(*prefix)).ok()
}

/// Cuts the stream of a conversation into messages for the peer.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Bytes of the stream that are not sent.
    pub(crate) bytes: BytesMut,
    /// The form of the next message.
    form: Form,
    /// The message that was begun.
    begun: Option<Begun>,
}

/// A message of which the length is known.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The bytes that are not sent.
    left: usize,
    is_first: bool,
}

/// A message for the peer, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) data: Bytes,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

impl Outbound {
    pub(crate) fn new() -> Self {
        Self { bytes: BytesMut::new(), form: Form::Prefixed, begun: None }
    }

    /// Sends messages in this form.
    pub(crate) fn answer_in(&mut self, form: Form) {
        self.form = form;
    }

    /// The next piece, as soon as it is whole.
    pub(crate) fn next_piece(&mut self) -> Option<Piece> {
        let Begun { left, is_first } = self.begin()?;
        let size = left.min(PIECE);
        if self.bytes.len() < size {
            return None;
        }
        let is_last = size == left;
        self.begun = (!is_last).then_some(Begun { left: left - size, is_first: false });
        Some(Piece { data: self.bytes.split_to(size).freeze(), is_first, is_last })
    }

    fn begin(&mut self) -> Option<Begun> {
        if self.begun.is_none() {
            let size = length(&self.bytes)?;
            let left = match self.form {
                Form::Prefixed => size + Delimited::PREFIX,
                Form::Bare => {
                    self.bytes.advance(Delimited::PREFIX);
                    size
                }
            };
            self.begun = Some(Begun { left, is_first: true });
        }
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_form_becomes_a_frame_and_other_bytes_do_not() {
        for (message, expected, form) in [
            (&[0, 0, 0, 2, 8, 1][..], &[0, 0, 0, 2, 8, 1][..], Some(Form::Prefixed)),
            (&[8, 1], &[0, 0, 0, 2, 8, 1], Some(Form::Bare)),
            (&[0x12, 0], &[0, 0, 0, 2, 0x12, 0], Some(Form::Bare)),
            (&[0, 0, 0, 0], &[0, 0, 0, 0], Some(Form::Prefixed)),
            (&[], &[0, 0, 0, 0], None),
            // Two messages, a byte too many, a byte too few, and a part of a prefix.
            (
                &[0, 0, 0, 2, 8, 1, 0, 0, 0, 2, 8, 2],
                &[0, 0, 0, 12, 0, 0, 0, 2, 8, 1, 0, 0, 0, 2, 8, 2],
                Some(Form::Prefixed),
            ),
            (&[0, 0, 0, 2, 8, 1, 0], &[0, 0, 0, 7, 0, 0, 0, 2, 8, 1, 0], Some(Form::Prefixed)),
            (&[0, 0, 0, 3, 8, 1], &[0, 0, 0, 6, 0, 0, 0, 3, 8, 1], Some(Form::Prefixed)),
            (&[0, 0], &[0, 0, 0, 2, 0, 0], Some(Form::Prefixed)),
            (&[7, 0, 0, 0], &[0, 0, 0, 4, 7, 0, 0, 0], Some(Form::Prefixed)),
        ] {
            let (mut found, seen) = frame(Bytes::copy_from_slice(message));
            assert_eq!((&found.copy_to_bytes(found.remaining())[..], seen), (expected, form), "{message:?}");
        }
    }

    fn pieces(outbound: &mut Outbound) -> Vec<(usize, bool, bool)> {
        std::iter::from_fn(|| outbound.next_piece())
            .map(|piece| (piece.data.len(), piece.is_first, piece.is_last))
            .collect()
    }

    #[test]
    fn a_frame_is_a_message_in_the_form_of_the_peer() {
        let frames = [0, 0, 0, 2, 8, 1, 0, 0, 0, 2, 8, 2];
        for (form, expected) in
            [(Form::Prefixed, [&frames[..6], &frames[6..]]), (Form::Bare, [&frames[4..6], &frames[10..]])]
        {
            let mut outbound = Outbound::new();
            outbound.answer_in(form);
            let mut found = Vec::new();
            // The stream arrives in single bytes.
            for byte in frames {
                outbound.bytes.extend_from_slice(&[byte]);
                found.extend(outbound.next_piece());
            }
            let expected =
                expected.map(|data| Piece { data: Bytes::copy_from_slice(data), is_first: true, is_last: true });
            assert_eq!(found, expected, "{form:?}");
        }
    }

    #[test]
    fn a_large_frame_is_sent_in_pieces() {
        let size = 2 * PIECE + 5;
        for (form, rest) in [(Form::Prefixed, 9), (Form::Bare, 5)] {
            let mut outbound = Outbound::new();
            outbound.answer_in(form);
            outbound.bytes.extend_from_slice(&u32::try_from(size).unwrap().to_be_bytes());
            assert_eq!(pieces(&mut outbound), [], "{form:?}");
            outbound.bytes.extend_from_slice(&vec![1; PIECE]);
            assert_eq!(pieces(&mut outbound), [(PIECE, true, false)], "{form:?}");
            // The form of a message that was begun stays.
            outbound.answer_in(Form::Bare);
            outbound.bytes.extend_from_slice(&vec![1; PIECE + 5]);
            outbound.bytes.extend_from_slice(&[0, 0, 0, 1, 9]);
            assert_eq!(
                pieces(&mut outbound),
                [(PIECE, false, false), (rest, false, true), (1, true, true)],
                "{form:?}"
            );
            assert!(outbound.bytes.is_empty());
        }
    }

    #[test]
    fn an_empty_frame_is_an_empty_message() {
        let mut outbound = Outbound::new();
        outbound.answer_in(Form::Bare);
        outbound.bytes.extend_from_slice(&[0, 0, 0, 0]);
        assert_eq!(pieces(&mut outbound), [(0, true, true)]);
    }
}
