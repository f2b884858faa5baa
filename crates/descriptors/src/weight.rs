//! Counts the values of a message, most of them before it is decoded.
//!
//! Two bytes can make a value of two hundred. The count follows the descriptor, because only it tells a nested message from
//! a text. It reads what the library reads: fields, extensions, groups, and the values of `google.protobuf.Any`, which
//! become messages when JSON is written.

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, ReflectMessage, Value};

use crate::limits::MessageLimits;
use crate::message_error::{MessageError, check};
use crate::wire::{Fields, Payload};

/// The nesting at which the library refuses a message.
const MAX_DEPTH: usize = 100;

/// The values of `google.protobuf.Any` inside each other.
const MAX_ANY: usize = 16;

pub(crate) const ANY: &str = "google.protobuf.Any";

/// The values that were counted, up to a limit.
pub(crate) struct Weight {
    values: usize,
    /// The bytes of all values of `google.protobuf.Any`.
    any_bytes: usize,
    has_any: bool,
    limits: MessageLimits,
}

impl Weight {
    /// Counts the values in the binary form. Fails if there are more than `limits.values`. Malformed bytes are left to the
    /// decoder.
    pub(crate) fn of(message: &MessageDescriptor, bytes: &[u8], limits: &MessageLimits) -> Result<Self, MessageError> {
        let mut weight = Self { values: 0, any_bytes: 0, has_any: false, limits: *limits };
        weight.add_message(message, bytes, MAX_DEPTH)?;
        Ok(weight)
    }

    /// Counts the values inside each `google.protobuf.Any` of the message that was decoded: an `Any` may come in several
    /// parts, so its type is known only now.
    pub(crate) fn add_any_values(&mut self, message: &DynamicMessage) -> Result<(), MessageError> {
        if self.has_any { self.add_any_of(message, MAX_ANY) } else { Ok(()) }
    }

    fn add(&mut self, values: usize) -> Result<(), MessageError> {
        self.values += values;
        check("values", self.values, self.limits.values)
    }

    fn add_message(&mut self, message: &MessageDescriptor, bytes: &[u8], depth: usize) -> Result<(), MessageError> {
        if depth == 0 {
            return Ok(());
        }
        self.has_any |= message.full_name() == ANY;
        // The types of the groups that are open; the fields of a group follow its start.
        let mut groups: Vec<Option<MessageDescriptor>> = Vec::new();
        for field in Fields::new(bytes) {
            let Ok((number, payload)) = field else { return Ok(()) };
            self.add(1)?;
            let kind = || match groups.last() {
                None => kind(message, number),
                Some(group) => kind(group.as_ref()?, number),
            };
            match payload {
                Payload::Bytes(inner) => self.add_bytes(kind(), inner, depth - groups.len())?,
                Payload::GroupStart if groups.len() + 1 >= depth => return Ok(()),
                Payload::GroupStart => {
                    let group = kind().and_then(|kind| kind.as_message().cloned());
                    self.has_any |= group.as_ref().is_some_and(|group| group.full_name() == ANY);
                    groups.push(group);
                }
                Payload::GroupEnd if groups.pop().is_none() => return Ok(()),
                Payload::GroupEnd | Payload::Varint(_) | Payload::Fixed(_) => {}
            }
        }
        Ok(())
    }

    fn add_bytes(&mut self, kind: Option<Kind>, bytes: &[u8], depth: usize) -> Result<(), MessageError> {
        match kind {
            Some(Kind::Message(inner)) => self.add_message(&inner, bytes, depth - 1),
            None | Some(Kind::String | Kind::Bytes) => Ok(()),
            Some(Kind::Double | Kind::Fixed64 | Kind::Sfixed64) => self.add(bytes.len() / 8),
            Some(Kind::Float | Kind::Fixed32 | Kind::Sfixed32) => self.add(bytes.len() / 4),
            Some(_) => self.add(bytes.iter().filter(|byte| **byte < 0x80).count()),
        }
    }

    fn add_any_of(&mut self, message: &DynamicMessage, depth: usize) -> Result<(), MessageError> {
        if message.descriptor().full_name() == ANY {
            return self.add_any(message, depth);
        }
        let fields = message.fields().map(|(_, value)| value);
        fields.chain(message.extensions().map(|(_, value)| value)).try_for_each(|value| match value {
            Value::Message(inner) => self.add_any_of(inner, depth),
            Value::List(list) => {
                list.iter().filter_map(Value::as_message).try_for_each(|inner| self.add_any_of(inner, depth))
            }
            Value::Map(map) => {
                map.values().filter_map(Value::as_message).try_for_each(|inner| self.add_any_of(inner, depth))
            }
            _ => Ok(()),
        })
    }

    /// Counts the value of one `google.protobuf.Any` like the message that it stands for.
    fn add_any(&mut self, any: &DynamicMessage, depth: usize) -> Result<(), MessageError> {
        let (Some(type_url), Some(value)) = (any.get_field_by_number(1), any.get_field_by_number(2)) else {
            return Ok(());
        };
        let (Some(type_url), Some(value)) = (type_url.as_str(), value.as_bytes()) else { return Ok(()) };
        let name = type_url.rsplit('/').next().unwrap_or_default();
        let Some(inner) = any.descriptor().parent_pool().get_message_by_name(name) else { return Ok(()) };
        check("messages in values of google.protobuf.Any", MAX_ANY - depth + 1, MAX_ANY)?;
        self.any_bytes += value.len();
        check("bytes in values of google.protobuf.Any", self.any_bytes, self.limits.bytes)?;
        self.has_any = false;
        self.add_message(&inner, value, MAX_DEPTH)?;
        if !self.has_any {
            return Ok(());
        }
        // A value that cannot be decoded has no JSON form.
        match DynamicMessage::decode(inner, value.as_ref()) {
            Ok(decoded) => self.add_any_of(&decoded, depth - 1),
            Err(_) => Ok(()),
        }
    }
}

/// The type of a field or an extension.
fn kind(message: &MessageDescriptor, number: u32) -> Option<Kind> {
    let extension = || message.get_extension(number).map(|extension| extension.kind());
    message.get_field(number).map(|field| field.kind()).or_else(extension)
}
