//! Counts the values of a message in its JSON form, before it is read.
//!
//! Every value but the first is behind a comma or a bracket. The exception is the text of a `google.protobuf.FieldMask`,
//! in which every comma makes a path.

use std::fmt;

use prost_reflect::{Kind, MessageDescriptor};
use serde::de::{Deserialize as _, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::message_error::{MessageError, check};
use crate::weight::ANY;

const FIELD_MASK: &str = "google.protobuf.FieldMask";

/// Fails if a JSON text holds more values than `limit`.
pub(crate) fn check_json_values(message: &MessageDescriptor, json: &str, limit: usize) -> Result<(), MessageError> {
    let (mut count, mut in_texts, mut in_string, mut is_escaped) = (1, 0, false, false);
    for byte in json.bytes() {
        match (in_string, byte) {
            // A comma may be written as `\u002c`.
            (true, _) if is_escaped => {
                is_escaped = false;
                in_texts += usize::from(byte == b'u');
            }
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_string = !in_string,
            (true, b',') => in_texts += 1,
            (false, b',' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    check("values", count, limit)?;
    // Most messages cannot have this many paths, whatever their texts are.
    if count + in_texts <= limit {
        return Ok(());
    }
    let mut paths = count;
    let masks = Masks { expected: Expected::of_message(message.clone()), paths: &mut paths, limit };
    // JSON that does not fit is refused by its reader.
    let _ = masks.deserialize(&mut serde_json::Deserializer::from_str(json));
    check("values", paths, limit)
}

/// Counts the paths of the masks in a value, and ends soon after there are too many.
struct Masks<'a> {
    expected: Expected,
    paths: &'a mut usize,
    limit: usize,
}

/// The type of a value.
#[derive(Clone)]
enum Expected {
    /// A mask, or any part of a `google.protobuf.Any`, whose type may follow.
    Mask,
    Message(MessageDescriptor),
    /// A map with values of this type.
    Map(Box<Self>),
    /// A value without masks.
    Other,
}

impl Expected {
    fn of_message(message: MessageDescriptor) -> Self {
        match message.full_name() {
            FIELD_MASK | ANY => Self::Mask,
            _ => Self::Message(message),
        }
    }

    fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Message(entry) if entry.is_map_entry() => {
                Self::Map(Box::new(Self::of_kind(entry.map_entry_value_field().kind())))
            }
            Kind::Message(message) => Self::of_message(message),
            _ => Self::Other,
        }
    }

    /// The type of a member.
    fn member(&self, key: &str) -> Self {
        match self {
            Self::Mask => Self::Mask,
            Self::Map(value) => (**value).clone(),
            Self::Other => Self::Other,
            Self::Message(message) => {
                let extension = |name| message.get_extension_by_json_name(name).map(|found| found.kind());
                let field = message.get_field_by_json_name(key).or_else(|| message.get_field_by_name(key));
                let extension = || if key.starts_with('[') { extension(key) } else { None };
                field.map(|field| field.kind()).or_else(extension).map_or(Self::Other, Self::of_kind)
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Masks<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.expected {
            Expected::Other => IgnoredAny::deserialize(deserializer).map(drop),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Masks<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if matches!(self.expected, Expected::Mask) {
            *self.paths += text.bytes().filter(|byte| *byte == b',').count();
        }
        if *self.paths > self.limit { Err(E::custom("too many paths")) } else { Ok(()) }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        loop {
            let element = Masks { expected: self.expected.clone(), paths: &mut *self.paths, limit: self.limit };
            if list.next_element_seed(element)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            let expected = self.expected.member(&key);
            members.next_value_seed(Masks { expected, paths: &mut *self.paths, limit: self.limit })?;
        }
        Ok(())
    }
}
