//! Messages by descriptor: binary and JSON forms.

use std::fmt;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor, ReflectMessage, SerializeOptions};
use serde_json::ser::{CompactFormatter, Formatter};

use crate::json_weight::check_json_values;
use crate::limits::MessageLimits;
use crate::message_error::{MessageError, check};
use crate::schema_error::SchemaError;
use crate::weight::Weight;
use crate::wide_numbers::{first_lost, wide_integers};

/// The prefix of a type URL that has no prefix.
const TYPE_URL_PREFIX: &str = "type.googleapis.com/";

/// A message of a [`Schema`](crate::Schema). Cloning is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageType(MessageDescriptor);

/// A value of a [`MessageType`].
#[derive(Clone, PartialEq)]
pub struct Message(DynamicMessage);

/// The form of 64-bit integers in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WideIntegers {
    /// Numbers with all digits, which is the form that MCP hosts expect. A reader that keeps numbers as floating
    /// point loses digits beyond 2^53.
    #[default]
    Numbers,
    /// Text, the canonical form of protobuf.
    Text,
}

impl MessageType {
    pub(crate) fn new(descriptor: MessageDescriptor) -> Self {
        Self(descriptor)
    }

    pub(crate) fn descriptor(&self) -> &MessageDescriptor {
        &self.0
    }

    /// The full name, without a leading dot.
    #[must_use]
    pub fn full_name(&self) -> &str {
        self.0.full_name()
    }

    /// The type URL of a `google.protobuf.Any` with this message.
    #[must_use]
    pub fn type_url(&self) -> String {
        format!("{TYPE_URL_PREFIX}{}", self.full_name())
    }

    /// The message without any field.
    #[must_use]
    pub fn empty(&self) -> Message {
        Message(DynamicMessage::new(self.0.clone()))
    }

    /// Reads the value of a `google.protobuf.Any`. Only the part of `type_url` behind its last slash counts.
    ///
    /// # Errors
    ///
    /// Fails if the URL names another message, the bytes are not one, or a limit is exceeded.
    pub fn unpack(&self, type_url: &str, value: &[u8], limits: &MessageLimits) -> Result<Message, MessageError> {
        let name = type_url.rsplit('/').next().unwrap_or_default();
        if name != self.full_name() {
            let (expected, found) = (self.full_name().to_owned(), SchemaError::quote(type_url));
            return Err(MessageError::WrongType { expected, found });
        }
        self.decode(value, limits)
    }

    /// Reads the binary form. Unknown fields are kept.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a message of this type, or exceed a limit. The value of a `google.protobuf.Any` counts
    /// like a message, if the schema has its type.
    pub fn decode(&self, bytes: &[u8], limits: &MessageLimits) -> Result<Message, MessageError> {
        check("bytes", bytes.len(), limits.bytes)?;
        let mut weight = Weight::of(&self.0, bytes, limits)?;
        let malformed = |reason| MessageError::Malformed { message: self.full_name().to_owned(), reason };
        let decoded = catch_unwind(AssertUnwindSafe(|| DynamicMessage::decode(self.0.clone(), bytes)));
        let decoded = decoded.map_err(|_| malformed("the decoder failed".to_owned()))?;
        let decoded = decoded.map_err(|error| malformed(SchemaError::quote(&error.to_string())))?;
        weight.add_any_values(&decoded)?;
        Ok(Message(decoded))
    }

    /// Reads the JSON form. Keys are JSON names or names of fields; an unknown key is an error.
    ///
    /// # Errors
    ///
    /// Fails if the JSON does not fit the message, exceeds a limit, or contains an integer whose digits its field does
    /// not keep, such as 2^53 + 1 in a `double` or a `google.protobuf.Value`.
    pub fn parse_json(&self, json: &str, limits: &MessageLimits) -> Result<Message, MessageError> {
        check("bytes of JSON", json.len(), limits.json_bytes)?;
        check_json_values(&self.0, json, limits.values)?;
        let unfit = |reason| MessageError::Json { message: self.full_name().to_owned(), reason };
        let read = || {
            let mut reader = serde_json::Deserializer::from_str(json);
            let options = DeserializeOptions::new();
            let message = DynamicMessage::deserialize_with_options(self.0.clone(), &mut reader, &options)?;
            reader.end()?;
            Ok(message)
        };
        let read: Result<_, serde_json::Error> =
            catch_unwind(AssertUnwindSafe(read)).map_err(|_| unfit("the reader failed".to_owned()))?;
        let message = read.map(Message).map_err(|error| unfit(SchemaError::quote(&error.to_string())))?;
        let wide = wide_integers(json);
        if !wide.is_empty()
            && let Some(lost) = first_lost(&wide, &message.to_json(WideIntegers::Numbers, limits)?)
        {
            return Err(unfit(format!("the field does not keep all digits of {}", SchemaError::quote(lost))));
        }
        Ok(message)
    }
}

impl Message {
    #[cfg(feature = "validation")]
    pub(crate) fn dynamic(&self) -> &DynamicMessage {
        &self.0
    }

    /// The type of the message.
    #[must_use]
    pub fn message_type(&self) -> MessageType {
        MessageType(self.0.descriptor())
    }

    /// The binary form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }

    /// The number of fields that the schema does not know, at the top of the message.
    #[must_use]
    pub fn unknown_fields(&self) -> usize {
        self.0.unknown_fields().count()
    }

    /// The JSON form, with JSON names as keys, without fields that are not set, and with whole numbers without a fraction.
    ///
    /// # Errors
    ///
    /// Fails if the message has no JSON form (an `Any` of a type that the schema does not contain, a time out of range),
    /// or if the text exceeds `limits.json_bytes`.
    pub fn to_json(&self, wide: WideIntegers, limits: &MessageLimits) -> Result<String, MessageError> {
        let options = SerializeOptions::new().stringify_64_bit_integers(wide == WideIntegers::Text);
        let mut text = Bounded { text: Vec::new(), limit: limits.json_bytes, is_full: false };
        let mut writer = serde_json::Serializer::with_formatter(&mut text, WholeNumbers);
        let written = catch_unwind(AssertUnwindSafe(|| self.0.serialize_with_options(&mut writer, &options)));
        if text.is_full {
            return Err(MessageError::TooLarge { quantity: "bytes of JSON", limit: limits.json_bytes });
        }
        let unfit = |reason| MessageError::Json { message: self.0.descriptor().full_name().to_owned(), reason };
        written
            .map_err(|_| unfit("the writer failed".to_owned()))?
            .map_err(|error| unfit(SchemaError::quote(&error.to_string())))?;
        String::from_utf8(text.text).map_err(|_| unfit("the text is not UTF-8".to_owned()))
    }
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MessageType").field(&self.full_name()).finish()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Message").field(&self.0.descriptor().full_name()).finish_non_exhaustive()
    }
}

/// Writes whole numbers without a fraction: a `google.protobuf.Value` has only floating point, and a reader may want an
/// integer.
struct WholeNumbers;

impl Formatter for WholeNumbers {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Up to 2^53 floating point has all integers.
        let is_whole = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 && !is_negative_zero(value);
        if is_whole { write!(writer, "{value:.0}") } else { CompactFormatter.write_f64(writer, value) }
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        let is_whole = value.fract() == 0.0 && value.abs() <= 16_777_216.0 && !is_negative_zero(value.into());
        if is_whole { write!(writer, "{value:.0}") } else { CompactFormatter.write_f32(writer, value) }
    }
}

fn is_negative_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// Refuses text beyond a limit: an enum value with a long name repeats it for one byte each.
struct Bounded {
    text: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.limit {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
