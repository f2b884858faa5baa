//! Parses a line of text to messages, in one scan.
//!
//! The scan reads the top level and one level into `params`; deeper values are skipped and shared with the line. Any
//! error in the text is returned as the reply to send, so that a bad line never ends a session.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::depth::deeper_than;
use crate::error::ErrorObject;
use crate::id::RequestId;
use crate::json_buf::JsonBuf;
use crate::json_object::{MAX_MEMBERS, Name, Scan};
use crate::message::{Message, Notification, Request};
use crate::method;
use crate::params::Params;
use crate::raw::RawJson;

/// The deepest nesting of arrays and objects in a message, the message itself included.
pub const MAX_DEPTH: usize = 128;

/// The most messages in a batch.
pub const MAX_BATCH: usize = 1024;

/// The content of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one at a time, on the stack; a box would cost every message")]
pub enum Incoming {
    /// A message.
    One(Message),
    /// Several messages in an array, which only MCP 2025-03-26 has. Never empty, at most [`MAX_BATCH`].
    Batch(Vec<Result<Message, Malformed>>),
}

/// Text that is not a message, with the reply for its sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Malformed {
    /// The id, if the text has a readable one for which the sender awaits a reply.
    pub id: Option<RequestId>,
    /// The request of the other direction that the text is to answer, if it may be a response with a readable id.
    pub answers: Option<RequestId>,
    /// −32700 or −32600.
    pub error: ErrorObject,
}

impl Incoming {
    /// Reads one text.
    ///
    /// # Errors
    /// [`Malformed`] for text that is not JSON, not UTF-8, not a JSON-RPC 2.0 message, an empty batch, or nested deeper
    /// than [`MAX_DEPTH`].
    pub fn parse(line: &Bytes) -> Result<Self, Malformed> {
        // Checking UTF-8 for the whole line in one pass is much faster than string by string.
        let text = std::str::from_utf8(line).map_err(Malformed::unreadable)?;
        let shape: Shape<'_> = serde_json::from_str(text).map_err(Malformed::unreadable)?;
        let deep = deeper_than(line, MAX_DEPTH);
        match shape {
            Shape::Object(envelope) => envelope.without_nulls().message(line, deep).map(Self::One),
            Shape::Batch { .. } if deep => Err(Malformed::invalid(None, format!("nested deeper than {MAX_DEPTH}"))),
            Shape::Batch { elements, more: false } if !elements.is_empty() => {
                let message = |element| match element {
                    Shape::Object(envelope) => envelope.without_nulls().message(line, deep),
                    Shape::Batch { .. } | Shape::Other => Err(Malformed::invalid(None, "a message is an object")),
                };
                Ok(Self::Batch(elements.into_iter().map(message).collect()))
            }
            Shape::Batch { more: true, .. } => {
                Err(Malformed::invalid(None, format!("a batch holds at most {MAX_BATCH} messages")))
            }
            Shape::Batch { .. } => Err(Malformed::invalid(None, "a batch is never empty")),
            Shape::Other => Err(Malformed::invalid(None, "a message is an object")),
        }
    }
}

impl Malformed {
    /// −32600, with the message `invalid request: ` and the reason.
    #[must_use]
    pub fn invalid(id: Option<RequestId>, why: impl fmt::Display) -> Self {
        let error = ErrorObject::invalid_request(format!("invalid request: {why}"));
        Self { id, answers: None, error }
    }

    fn unreadable(why: impl fmt::Display) -> Self {
        Self { id: None, answers: None, error: ErrorObject::parse_error(format!("parse error: {why}")) }
    }
}

/// The reply for the sender.
impl From<Malformed> for Message {
    fn from(malformed: Malformed) -> Self {
        Self::error(malformed.id, malformed.error)
    }
}

/// The value at the top level.
enum Shape<'a> {
    Object(Envelope<'a>),
    /// `more` means that elements beyond the limit were skipped.
    Batch {
        elements: Vec<Self>,
        more: bool,
    },
    Other,
}

/// The members of JSON-RPC, borrowed from the line. Of duplicates the last wins.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<ParamsShape<'a>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

enum ParamsShape<'a> {
    Null,
    Named(Scan<'a>),
    Positional(Vec<&'a RawValue>),
    Other,
}

impl Envelope<'_> {
    /// Without the members that are null next to the one that makes the message: some programs write all of them. A
    /// result alone may be null.
    fn without_nulls(mut self) -> Self {
        let is_value = |raw: &&RawValue| raw.get() != "null";
        if self.method.as_ref().is_some_and(is_value) {
            (self.result, self.error) = (self.result.filter(is_value), self.error.filter(is_value));
        } else if self.result.is_some() || self.error.is_some() {
            self.method = None;
        }
        if self.error.as_ref().is_some_and(is_value) {
            self.result = self.result.filter(is_value);
        } else if self.result.is_some() {
            self.error = None;
        }
        self
    }

    fn message(self, line: &Bytes, deep: bool) -> Result<Message, Malformed> {
        let id = self.id.map(|raw| RequestId::parse(raw.get()));
        let readable = id.clone().flatten();
        let (has_method, has_outcome) = (self.method.is_some(), self.result.is_some() || self.error.is_some());
        self.read(id, line, deep).map_err(|why| Malformed {
            // A reply to a bad response carries no id: the id is one of ours, and the sender would take a reply with it
            // for the answer to a request that it has sent.
            id: readable.clone().filter(|_| has_method || !has_outcome),
            answers: readable.filter(|_| has_outcome || !has_method),
            error: ErrorObject::invalid_request(format!("invalid request: {why}")),
        })
    }

    fn read(self, id: Option<Option<RequestId>>, line: &Bytes, deep: bool) -> Result<Message, Cow<'static, str>> {
        if self.jsonrpc.and_then(string).as_deref() != Some("2.0") {
            return Err("jsonrpc must be \"2.0\"".into());
        }
        if deep {
            return Err(format!("nested deeper than {MAX_DEPTH}").into());
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let method = string(method).map(method::intern).ok_or("method must be a string")?;
                match id {
                    None => {
                        // Parameters of the wrong kind are ignored: a notification is never answered.
                        let params = self.params.and_then(|shape| shape.params(line).ok()).unwrap_or_default();
                        Ok(Notification { method, params }.into())
                    }
                    // MCP 2025-11-25, basic: the id of a request is a string or an integer.
                    Some(None) => Err("id must be a string or an integer".into()),
                    Some(Some(_)) if method.starts_with("notifications/") => Err("a notification has no id".into()),
                    Some(Some(id)) => {
                        let params = self.params.map_or(Ok(Params::Absent), |shape| shape.params(line))?;
                        Ok(Request { id, method, params }.into())
                    }
                }
            }
            (None, Some(result), None) => {
                let id = id.flatten().ok_or("a result needs the id of its request")?;
                Ok(Message::result(id, JsonBuf::from(RawJson::slice(line, result))))
            }
            (None, None, Some(error)) => match (serde_json::from_str(error.get()), id) {
                (Err(_), _) => Err("error must have a code and a message".into()),
                (Ok(_), Some(None)) if self.id.is_some_and(|raw| raw.get() != "null") => {
                    Err("id must be a string or an integer".into())
                }
                (Ok(error), id) => Ok(Message::error(id.flatten(), error)),
            },
            (None, Some(_), Some(_)) => Err("both result and error".into()),
            (Some(_), _, _) => Err("both a request and a response".into()),
            (None, None, None) => Err("no method".into()),
        }
    }
}

impl ParamsShape<'_> {
    fn params(self, line: &Bytes) -> Result<Params, String> {
        match self {
            Self::Null => Ok(Params::Absent),
            Self::Named(scan) => match scan.keep(line) {
                Some(members) => Ok(Params::Named(members)),
                None => Err(format!("params have more than {MAX_MEMBERS} members")),
            },
            Self::Positional(list) => {
                let list: Vec<_> = list.into_iter().map(RawValue::get).collect();
                Ok(Params::Positional(RawJson::trusted(format!("[{}]", list.join(",")))))
            }
            Self::Other => Err("params must be an object".to_owned()),
        }
    }
}

/// Reads a JSON string, without a copy unless it holds escapes.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let plain = raw.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    if let Some(plain) = plain.filter(|text| !text.contains('\\')) {
        return Some(Cow::Borrowed(plain));
    }
    serde_json::from_str::<Name<'_>>(raw.get()).ok().map(|Name(text)| text)
}

/// The scalar methods of a visitor that accepts no scalar.
macro_rules! scalars {
    ($value:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

impl<'de> Deserialize<'de> for Shape<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Level { top: true })
    }
}

/// Reads an envelope, or at the top an array of them, so that nothing here recurses with the text.
struct Level {
    top: bool,
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Shape<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Shape<'de>;

    scalars!(Shape::Other);

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Shape::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(Name(name)) = map.next_key()? {
            match name.as_ref() {
                "jsonrpc" => envelope.jsonrpc = Some(map.next_value()?),
                "id" => envelope.id = Some(map.next_value()?),
                "method" => envelope.method = Some(map.next_value()?),
                "params" => envelope.params = Some(map.next_value()?),
                "result" => envelope.result = Some(map.next_value()?),
                "error" => envelope.error = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Shape::Object(envelope))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while self.top && elements.len() < MAX_BATCH {
            match seq.next_element_seed(Self { top: false })? {
                Some(shape) => elements.push(shape),
                None => return Ok(Shape::Batch { elements, more: false }),
            }
        }
        let more = skip(seq)?;
        Ok(if self.top { Shape::Batch { elements, more } } else { Shape::Other })
    }
}

impl<'de> Deserialize<'de> for ParamsShape<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneLevel;
        impl<'de> Visitor<'de> for OneLevel {
            type Value = ParamsShape<'de>;

            scalars!(ParamsShape::Other);

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(ParamsShape::Null)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Scan::collect(map).map(ParamsShape::Named)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while list.len() < MAX_MEMBERS {
                    match seq.next_element()? {
                        Some(raw) => list.push(raw),
                        None => return Ok(ParamsShape::Positional(list)),
                    }
                }
                Ok(if skip(seq)? { ParamsShape::Other } else { ParamsShape::Positional(list) })
            }
        }
        deserializer.deserialize_any(OneLevel)
    }
}

/// Skips the rest of an array; returns true if there was any.
fn skip<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<bool, A::Error> {
    let mut any = false;
    while seq.next_element::<IgnoredAny>()?.is_some() {
        any = true;
    }
    Ok(any)
}
