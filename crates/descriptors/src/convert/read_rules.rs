//! The rules of a descriptor, read from its options by number.
//!
//! They are read from the bytes, so that a schema need not contain the file that defines them.

use std::collections::BTreeSet;

use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor};

use crate::convert::rules::EXTENSION;
use crate::wire::{Fields, Payload};

/// The fields of one message of rules. The last of several values of one number counts, except for lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleSet(Vec<(u32, Leaf)>);

/// A value without its type.
#[derive(Debug, Clone)]
enum Leaf {
    Varint(u64),
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
}

/// The number of the rules for a kind of integer.
pub(crate) fn integer_rules(kind: &Kind) -> u32 {
    match kind {
        Kind::Int32 => 3,
        Kind::Uint32 => 5,
        Kind::Uint64 => 6,
        Kind::Sint32 => 7,
        Kind::Sint64 => 8,
        Kind::Fixed32 => 9,
        Kind::Fixed64 => 10,
        Kind::Sfixed32 => 11,
        Kind::Sfixed64 => 12,
        _ => 4,
    }
}

impl Leaf {
    fn shown(&self, kind: &Kind) -> String {
        match (self, kind) {
            (Self::Varint(value), _) => value.cast_signed().to_string(),
            (Self::Fixed(bytes), Kind::Double | Kind::Float) => {
                match (<[u8; 8]>::try_from(&**bytes), <[u8; 4]>::try_from(&**bytes)) {
                    (Ok(bytes), _) => f64::from_le_bytes(bytes).to_string(),
                    (_, Ok(bytes)) => f32::from_le_bytes(bytes).to_string(),
                    _ => hex(bytes),
                }
            }
            (Self::Bytes(bytes), Kind::Message(message)) if message.full_name() != "google.protobuf.Any" => {
                let time = RuleSet::read(bytes);
                let part = |number| time.unsigned(number).unwrap_or_default().cast_signed();
                format!("{} s {} ns", part(1), part(2))
            }
            (Self::Bytes(bytes), Kind::String | Kind::Message(_)) => match std::str::from_utf8(bytes) {
                Ok(text) => format!("{text:?}"),
                Err(_) => hex(bytes),
            },
            (Self::Bytes(bytes) | Self::Fixed(bytes), _) => hex(bytes),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

impl RuleSet {
    pub(crate) fn of_field(field: &FieldDescriptor) -> Self {
        Self::of_options(&field.options())
    }

    pub(crate) fn of_message(message: &MessageDescriptor) -> Self {
        Self::of_options(&message.options())
    }

    pub(crate) fn of_oneof(oneof: &OneofDescriptor) -> Self {
        Self::of_options(&oneof.options())
    }

    fn of_options(options: &DynamicMessage) -> Self {
        Self::read(&options.encode_to_vec()).inner(EXTENSION)
    }

    fn read(bytes: &[u8]) -> Self {
        let fields = Fields::new(bytes).map_while(Result::ok).filter_map(|(number, payload)| {
            let leaf = match payload {
                Payload::Varint(value) => Leaf::Varint(value),
                Payload::Fixed(bytes) => Leaf::Fixed(bytes.to_vec()),
                Payload::Bytes(bytes) => Leaf::Bytes(bytes.to_vec()),
                Payload::GroupStart | Payload::GroupEnd => return None,
            };
            Some((number, leaf))
        });
        Self(fields.collect())
    }

    /// The rules inside a member. Several of one number are merged.
    pub(crate) fn inner(&self, number: u32) -> Self {
        let merged: Vec<u8> = self.texts(number).flatten().copied().collect();
        Self::read(&merged)
    }

    pub(crate) fn is_true(&self, number: u32) -> bool {
        self.unsigned(number) == Some(1)
    }

    pub(crate) fn unsigned(&self, number: u32) -> Option<u64> {
        self.0.iter().rev().find_map(|(found, leaf)| match leaf {
            Leaf::Varint(value) if *found == number => Some(*value),
            _ => None,
        })
    }

    /// The bytes of a number of fixed length.
    pub(crate) fn fixed(&self, number: u32) -> Option<&[u8]> {
        self.0.iter().rev().find_map(|(found, leaf)| match leaf {
            Leaf::Fixed(bytes) if *found == number => Some(bytes.as_slice()),
            _ => None,
        })
    }

    /// All integers of a list, packed or not.
    pub(crate) fn integers(&self, number: u32) -> Vec<u64> {
        let mut integers = Vec::new();
        for (_, leaf) in self.0.iter().filter(|(found, _)| *found == number) {
            match leaf {
                Leaf::Varint(value) => integers.push(*value),
                Leaf::Bytes(bytes) => {
                    let mut packed = bytes.as_slice();
                    while let Ok(value) = prost::encoding::decode_varint(&mut packed) {
                        integers.push(value);
                    }
                }
                Leaf::Fixed(_) => {}
            }
        }
        integers
    }

    pub(crate) fn text(&self, number: u32) -> Option<String> {
        self.texts(number).last().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok())
    }

    pub(crate) fn all_texts(&self, number: u32) -> Vec<String> {
        self.texts(number).filter_map(|bytes| String::from_utf8(bytes.to_vec()).ok()).collect()
    }

    /// The members of a list of messages.
    pub(crate) fn list(&self, number: u32) -> Vec<Self> {
        self.texts(number).map(Self::read).collect()
    }

    /// The numbers of the rules that are there, each once.
    pub(crate) fn numbers(&self) -> BTreeSet<u32> {
        self.0.iter().map(|(number, _)| *number).collect()
    }

    /// The values of a rule, for a reader.
    pub(crate) fn shown(&self, number: u32, kind: &Kind) -> String {
        let leaves = self.0.iter().filter(|(found, _)| *found == number);
        let shown: Vec<String> = leaves.map(|(_, leaf)| leaf.shown(kind)).collect();
        shown.join(", ")
    }

    fn texts(&self, number: u32) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.iter().filter_map(move |(found, leaf)| match leaf {
            Leaf::Bytes(bytes) if *found == number => Some(bytes.as_slice()),
            _ => None,
        })
    }
}
