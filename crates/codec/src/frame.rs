//! The units of the stream.

use std::fmt;

use bytes::Bytes;
use protomcp_envelope::{Envelope, RawHeader};

/// One unit of the stream.
// An envelope is the usual variant; a box would cost every frame an allocation.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A message, never one with a raw header: that is [`Frame::Raw`]. It may be empty or of an unknown kind.
    Envelope(Envelope),
    /// A field of a call's result, announced and sent as bare bytes.
    Raw(Raw),
    /// An oversized frame. Its bytes were skipped and the stream continues.
    TooLarge(TooLarge),
}

/// A raw payload as sent, possibly compressed (docs/envelope.md, "Raw payloads").
#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    /// The call and field of the payload, and its compression.
    ///
    /// After decoding, `size` is the length of `payload`, and `request_id` holds the id even if the peer put it on the
    /// envelope. When encoding, `size` is taken from `payload`.
    pub header: RawHeader,
    /// The bytes on the wire.
    pub payload: Bytes,
}

impl Raw {
    /// An uncompressed payload that is the whole result of its call.
    pub fn new(request_id: impl Into<String>, field: Field, payload: impl Into<Bytes>) -> Self {
        let payload = payload.into();
        let header = RawHeader {
            request_id: request_id.into(),
            field_name: field.into(),
            size: payload.len() as u64,
            ..RawHeader::default()
        };
        Self { header, payload }
    }

    /// The field that the payload holds.
    pub fn field(&self) -> Field {
        Field::parse(&self.header.field_name)
    }
}

/// A skipped frame that is larger than [`Limits`](crate::Limits) allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes that were skipped.
    pub size: u64,
    /// The id of the request; empty if unknown. Ids above 256 bytes are not kept.
    pub request_id: String,
    /// The kind of message in an envelope, such as `tool_list`; `empty` if unknown, and for a payload.
    pub message: &'static str,
    /// The kind of the oversized unit.
    pub kind: TooLargeKind,
}

/// The kind of an oversized unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TooLargeKind {
    /// An envelope, against [`Limits::max_frame`](crate::Limits::max_frame).
    Envelope,
    /// A raw payload, against [`Limits::max_payload`](crate::Limits::max_payload).
    Payload,
}

/// A field of a call's result that can be sent separately.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Field {
    /// `result_json`, the content.
    ResultJson,
    /// `structured_content_json`.
    StructuredContentJson,
    /// Any other field. No published SDK sends one, and it has no known meaning.
    Other(String),
}

impl Field {
    /// The field with this name.
    pub fn parse(name: &str) -> Self {
        match name {
            "result_json" => Self::ResultJson,
            "structured_content_json" => Self::StructuredContentJson,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Its name in a header.
    pub fn name(&self) -> &str {
        match self {
            Self::ResultJson => "result_json",
            Self::StructuredContentJson => "structured_content_json",
            Self::Other(name) => name,
        }
    }
}

impl From<Field> for String {
    fn from(field: Field) -> Self {
        match field {
            Field::Other(name) => name,
            known => known.name().to_owned(),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
