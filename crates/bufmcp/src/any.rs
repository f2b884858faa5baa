//! `google.protobuf.Any`, without a copy of its value.

use bytes::Bytes;
use prost::{Message, Name};

/// Any message: its type and its bytes. On the wire this is `google.protobuf.Any`; in memory the bytes are a slice of the
/// frame that was received.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Any {
    /// Everything behind the last `/` is the full name of the type.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The encoded message.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

impl Any {
    /// The part of a type URL before the name, as it is written. Any other one is read as well.
    pub const PREFIX: &'static str = "type.googleapis.com/";

    /// A message that is encoded already, of the type with this full name.
    #[must_use]
    pub fn new(type_name: &str, value: impl Into<Bytes>) -> Self {
        Self { type_url: format!("{}{type_name}", Self::PREFIX), value: value.into() }
    }

    /// Encodes a message.
    #[must_use]
    pub fn pack<M: Name>(message: &M) -> Self {
        Self::new(&M::full_name(), message.encode_to_vec())
    }

    /// The full name of the type, such as `google.protobuf.Struct`.
    #[must_use]
    pub fn type_name(&self) -> &str {
        self.type_url.rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_bytes_of_the_message_that_it_stands_for() {
        let time = prost_types::Timestamp { seconds: 5, nanos: 7 };
        let (ours, theirs) = (Any::pack(&time), prost_types::Any::from_msg(&time).unwrap());
        assert_eq!(ours.type_name(), "google.protobuf.Timestamp");
        assert_eq!(Message::encode_to_vec(&ours), Message::encode_to_vec(&theirs));
        assert_eq!(Any::decode(&theirs.encode_to_vec()[..]).unwrap(), ours);
    }

    #[test]
    fn the_name_is_what_follows_the_last_slash() {
        for (url, name) in [("type.googleapis.com/a.B", "a.B"), ("a.B", "a.B"), ("x/y/a.B", "a.B"), ("", "")] {
            assert_eq!(Any { type_url: url.into(), value: Bytes::new() }.type_name(), name);
        }
    }
}
