//! Identifies an envelope without holding or decoding it.
//!
//! [`Walk`] is fed the bytes of an envelope in pieces of any size. It follows the top-level protobuf fields and keeps
//! three things: the request id, the last message field, and the presence of a raw header. It holds at most [`MAX_ID`]
//! bytes. Bytes that are not protobuf end the walk; its results until then stay.

use prost::Message;
use prost::encoding::{WireType, encode_key};
use protomcp_envelope::Envelope;

use crate::shape::ENVELOPE;

/// Follows one envelope as it streams in.
#[derive(Debug)]
pub(crate) struct Walk {
    state: State,
    /// The depth of groups; only fields at depth 0 belong to the envelope.
    depth: u32,
    request_id: Vec<u8>,
    /// The field number of the last message in the envelope's oneof.
    message: Option<u32>,
    raw_header: bool,
}

/// ```text
/// Key ──varint──▶ Key          Key ──bytes──▶ Length ──▶ Value ──▶ Key          Key ──anything else──▶ Lost
///  └─ wire type 0: Number ──▶ Key    └─ fixed 32, fixed 64: Value ──▶ Key
/// ```
#[derive(Debug, Clone, Copy)]
enum State {
    /// Reading a field's number and wire type.
    Key(Varint),
    /// Skipping a number.
    Number(Varint),
    /// Reading the length of field `field`.
    Length { field: u32, varint: Varint },
    /// Skipping a value, or keeping it.
    Value { left: u64, keep: bool },
    /// The bytes are not protobuf.
    Lost,
}

/// A number that arrives seven bits at a time.
#[derive(Debug, Clone, Copy, Default)]
struct Varint {
    value: u64,
    bits: u32,
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Key(Varint::default()),
            depth: 0,
            request_id: Vec::new(),
            message: None,
            raw_header: false,
        }
    }

    /// The result of a walk over a whole envelope.
    pub(crate) fn over(envelope: &[u8]) -> Self {
        let mut walk = Self::new();
        walk.feed(envelope);
        walk
    }

    /// Feeds the next bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if let State::Value { left, keep } = self.state {
                let step = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                let (value, rest) = bytes.split_at(step);
                if keep {
                    self.request_id.extend_from_slice(value);
                }
                bytes = rest;
                self.state = Self::value(left - step as u64, keep);
            } else {
                self.state = self.step(bytes[0]);
                bytes = &bytes[1..];
            }
        }
    }

    /// The request id; empty if it is absent, too long or not text.
    pub(crate) fn request_id(self) -> String {
        let complete = !matches!(self.state, State::Value { keep: true, .. });
        if complete { String::from_utf8(self.request_id).unwrap_or_default() } else { String::new() }
    }

    /// The name of the message in the envelope; `empty` if there is none or an unknown one.
    pub(crate) fn message(&self) -> &'static str {
        let Some(number) = self.message else { return "empty" };
        let mut bytes = Vec::new();
        encode_key(number, WireType::LengthDelimited, &mut bytes);
        bytes.push(0);
        Envelope::decode(&bytes[..]).map_or("empty", |envelope| envelope.name())
    }

    /// True if the envelope announces a payload.
    pub(crate) fn has_raw_header(&self) -> bool {
        self.raw_header
    }

    fn step(&mut self, byte: u8) -> State {
        match self.state {
            State::Key(varint) => match varint.push(byte) {
                Step::More(varint) => State::Key(varint),
                Step::Done(key) => self.key(key),
                Step::Broken => State::Lost,
            },
            State::Number(varint) => match varint.push(byte) {
                Step::More(varint) => State::Number(varint),
                Step::Done(_) => State::Key(Varint::default()),
                Step::Broken => State::Lost,
            },
            State::Length { field, varint } => match varint.push(byte) {
                Step::More(varint) => State::Length { field, varint },
                Step::Done(length) => self.length(field, length),
                Step::Broken => State::Lost,
            },
            State::Value { .. } | State::Lost => State::Lost,
        }
    }

    fn key(&mut self, key: u64) -> State {
        let Ok(field @ 1..) = u32::try_from(key >> 3) else { return State::Lost };
        match key & 7 {
            0 => State::Number(Varint::default()),
            1 => Self::value(8, false),
            2 => State::Length { field, varint: Varint::default() },
            3 => {
                self.depth += 1;
                State::Key(Varint::default())
            }
            4 if self.depth > 0 => {
                self.depth -= 1;
                State::Key(Varint::default())
            }
            5 => Self::value(4, false),
            _ => State::Lost,
        }
    }

    fn length(&mut self, field: u32, length: u64) -> State {
        let own = self.depth == 0;
        self.raw_header |= own && field == RAW_HEADER;
        if own && field != CONTEXT && ENVELOPE.inner(field).is_some() {
            self.message = Some(field);
        }
        let id = own && field == REQUEST_ID;
        if id {
            // The last occurrence wins, as everywhere in protobuf.
            self.request_id.clear();
        }
        Self::value(length, id && length <= MAX_ID)
    }

    fn value(left: u64, keep: bool) -> State {
        if left == 0 { State::Key(Varint::default()) } else { State::Value { left, keep } }
    }
}

enum Step {
    More(Varint),
    Done(u64),
    Broken,
}

impl Varint {
    fn push(self, byte: u8) -> Step {
        if self.bits > 63 || (self.bits == 63 && byte > 1) {
            return Step::Broken;
        }
        let value = self.value | (u64::from(byte & 0x7f) << self.bits);
        if byte & 0x80 == 0 { Step::Done(value) } else { Step::More(Self { value, bits: self.bits + 7 }) }
    }
}

/// The longest request id that is kept, in bytes. Ours have a dozen, the ids of SDKs up to 36.
const MAX_ID: u64 = 256;

/// Field number of `request_id` in the envelope.
const REQUEST_ID: u32 = 14;

/// Field number of `context` in the envelope, the only message in it outside the oneof.
const CONTEXT: u32 = 103;

/// Field number of `raw_header` in the envelope.
const RAW_HEADER: u32 = 30;
