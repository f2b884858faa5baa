//! Frames: a length in four bytes, big-endian, and that many bytes of one `MCPMessage`.
//!
//! The decoder keeps nothing itself: an incomplete frame stays in the buffer of the caller, which grows as bytes arrive
//! and never by what a prefix announces.

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use protomcp_codec::Delimited;
use protomcp_codec::prescan::{self, Fields, Verdict};

use crate::code;
use crate::fault::Fault;
use crate::limits::FrameLimits;
use crate::message::McpMessage;
use crate::message::mcp_message::Payload;
use crate::reference::{self, Numbering};
use crate::shape::MESSAGE;

/// Splits a stream of bytes into messages.
#[derive(Debug, Clone)]
pub struct Decoder {
    limits: FrameLimits,
    numbering: Numbering,
    want: usize,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(limits: FrameLimits) -> Self {
        Self { limits, numbering: Numbering::Standard, want: Delimited::PREFIX }
    }

    /// Reads requests for lists in these field numbers.
    #[must_use]
    pub fn with_numbering(mut self, numbering: Numbering) -> Self {
        self.numbering = numbering;
        self
    }

    /// The next message in `src`, removed from it; `None` while `src` holds only a part of it. A frame without a message
    /// is an [`Unreadable`], and the next call continues after it.
    ///
    /// # Errors
    /// If a frame is larger than the limit. The stream is then lost: nothing behind it can be found.
    pub fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Result<McpMessage, Unreadable>>, FrameTooLarge> {
        match Delimited::head(src, self.limits.frame()) {
            Delimited::Partial(want) => {
                self.want = want;
                Ok(None)
            }
            Delimited::Whole(size) => {
                src.advance(Delimited::PREFIX);
                Ok(Some(self.message(&Delimited::take(src, size))))
            }
            Delimited::TooLarge(size) => Err(FrameTooLarge::of(size as usize, &self.limits)),
        }
    }

    /// The number of bytes that the first incomplete frame still needs, as far as the last [`decode`](Self::decode) could
    /// tell. A reader grows its buffer by no more than that, and only as the bytes arrive.
    #[must_use]
    pub fn want(&self) -> usize {
        self.want
    }

    /// Decodes one message without a length prefix, as a WebSocket may carry it.
    ///
    /// # Errors
    /// If it is not a message of a kind that version 1.0 has.
    pub fn message(&self, frame: &Bytes) -> Result<McpMessage, Unreadable> {
        let decoded = match prescan::scan(frame, &MESSAGE, self.limits.max_entries) {
            Verdict::Fits => self.fields(frame),
            Verdict::TooMany => return Err(Unreadable::new(frame, UnreadableKind::TooManyEntries)),
            Verdict::Broken => return Err(Unreadable::new(frame, UnreadableKind::Undecodable(String::new()))),
        };
        let message = decoded.map_err(|error| {
            let why = if TopLevel::of(frame).payload == Some(reference::LIST_TOOLS_REQUEST) {
                format!("{error}; if the client uses the field numbers of proto-mcp-go, the server has to be told so")
            } else {
                error.to_string()
            };
            Unreadable::new(frame, UnreadableKind::Undecodable(why))
        })?;
        match (&message.payload, TopLevel::of(frame).payload) {
            (Some(_), _) => Ok(message),
            (None, None) => Err(Unreadable::new(frame, UnreadableKind::Empty)),
            (None, Some(number)) => Err(Unreadable::new(frame, UnreadableKind::UnknownPayload(number))),
        }
    }

    fn fields(&self, frame: &Bytes) -> Result<McpMessage, prost::DecodeError> {
        if self.numbering == Numbering::Reference {
            let top = TopLevel::of(frame);
            if let (Some(reference::LIST_TOOLS_REQUEST), Some(body)) = (top.payload, top.body) {
                let payload = Some(Payload::ListToolsRequest(reference::decode(body)?));
                return Ok(McpMessage { id: top.id, payload });
            }
        }
        let message = McpMessage::decode(frame.clone())?;
        if frame.len() >= KEPT_WHOLE_BELOW && message.encoded_len() < frame.len() / 2 {
            // Most of the frame is unknown fields, which must not stay in memory for the sake of the rest.
            return McpMessage::decode(&frame[..]);
        }
        Ok(message)
    }
}

/// Appends a frame. Larger messages than [`FrameLimits::max_frame`] are refused, and nothing is appended.
///
/// # Errors
/// If the message is too large.
pub fn encode(message: &McpMessage, limits: &FrameLimits, dst: &mut Vec<u8>) -> Result<(), FrameTooLarge> {
    encode_with(message, Numbering::Standard, limits, dst)
}

/// Like [`encode`], with requests for lists in these field numbers.
///
/// # Errors
/// See [`encode`].
pub fn encode_with(
    message: &McpMessage,
    numbering: Numbering,
    limits: &FrameLimits,
    dst: &mut Vec<u8>,
) -> Result<(), FrameTooLarge> {
    let shifted = (numbering == Numbering::Reference).then(|| reference::encode(message));
    let size = shifted.as_ref().map_or_else(|| message.encoded_len(), Vec::len);
    let prefix = u32::try_from(size).ok().filter(|_| size <= limits.frame());
    let Some(prefix) = prefix else { return Err(FrameTooLarge::of(size, limits)) };
    dst.reserve(Delimited::PREFIX + size);
    dst.extend_from_slice(&prefix.to_be_bytes());
    match shifted {
        Some(bytes) => dst.extend_from_slice(&bytes),
        None => message.encode_raw(dst),
    }
    Ok(())
}

/// A frame that is larger than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {size} bytes is larger than the limit of {limit}{}", setting.map(|name| format!("; raise {name}")).unwrap_or_default())]
pub struct FrameTooLarge {
    /// Its size in bytes, without the prefix.
    pub size: usize,
    /// The limit in bytes.
    pub limit: usize,
    /// [`FrameLimits::setting`].
    pub setting: Option<&'static str>,
}

impl FrameTooLarge {
    pub(crate) fn of(size: usize, limits: &FrameLimits) -> Self {
        Self { size, limit: limits.frame(), setting: limits.setting }
    }
}

/// A frame that was consumed and is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The id of the request, as far as it is readable; otherwise 0.
    pub id: u64,
    /// The number of its payload in `MCPMessage`, as far as it is readable.
    pub payload: Option<u32>,
    /// The reason.
    pub kind: UnreadableKind,
}

/// The reason why a frame is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableKind {
    /// The bytes are not a message. The text says more, if there is more to say.
    Undecodable(String),
    /// Decoding would take far more memory than the frame has bytes.
    TooManyEntries,
    /// There is no payload.
    Empty,
    /// The payload has a number that neither version 1.0 nor its extensions know.
    UnknownPayload(u32),
}

impl Unreadable {
    #[cold]
    fn new(frame: &[u8], kind: UnreadableKind) -> Self {
        let top = TopLevel::of(frame);
        Self { id: top.id, payload: top.payload, kind }
    }

    /// The answer to it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match &self.kind {
            UnreadableKind::Undecodable(why) if why.is_empty() => {
                Fault::new(code::PARSE_ERROR, "the frame is not a message")
            }
            UnreadableKind::Undecodable(why) => {
                Fault::new(code::PARSE_ERROR, format!("the frame is not a message: {why}"))
            }
            UnreadableKind::TooManyEntries => Fault::new(code::PARSE_ERROR, "the message has too many entries"),
            UnreadableKind::Empty => Fault::new(code::INVALID_REQUEST, "the message is empty"),
            UnreadableKind::UnknownPayload(number) => unknown_payload(*number),
        }
    }

    /// True if not even the fields of the frame could be read. A peer that keeps sending such frames is not one of
    /// proto-mcp.
    #[must_use]
    pub fn is_garbage(&self) -> bool {
        matches!(self.kind, UnreadableKind::Undecodable(_) | UnreadableKind::TooManyEntries)
    }
}

/// The failure of a message of a kind that does not exist for its receiver: its number in `MCPMessage` is unknown, or of an
/// extension that was not declared.
pub(crate) fn unknown_payload(number: u32) -> Fault {
    Fault::new(code::METHOD_NOT_FOUND, format!("unknown kind of message, number {number}"))
}

/// The outermost fields of a message, as far as they can be read.
#[derive(Default)]
pub(crate) struct TopLevel<'a> {
    pub(crate) id: u64,
    /// The last field with a length.
    pub(crate) payload: Option<u32>,
    pub(crate) body: Option<&'a [u8]>,
}

impl<'a> TopLevel<'a> {
    pub(crate) fn of(frame: &'a [u8]) -> Self {
        let (mut fields, mut top) = (Fields::of(frame), Self::default());
        loop {
            let before = fields.rest();
            let Some((number, value)) = fields.next_field() else { return top };
            match (number, value) {
                (1, None) if before.first() == Some(&ID_KEY) => {
                    top.id = Fields::of(&before[1..]).varint().unwrap_or_default();
                }
                (number, Some(body)) if number > 1 => (top.payload, top.body) = (Some(number), Some(body)),
                _ => {}
            }
        }
    }
}

/// The key of `id`: field 1, a number.
const ID_KEY: u8 = 1 << 3;

/// Frames below this size may stay in memory for the sake of one field, however small.
const KEPT_WHOLE_BELOW: usize = 32 << 10;
