//! A file of protobuf as a value, between the schema it comes from and its two written forms.

use crate::convert::rules::Rules;

/// A file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProtoFile {
    pub(crate) package: String,
    pub(crate) messages: Vec<ProtoMessage>,
}

/// A message. All messages of a file are outside of each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProtoMessage {
    pub(crate) name: String,
    pub(crate) comment: String,
    pub(crate) fields: Vec<ProtoField>,
    pub(crate) reserved: Vec<u32>,
    pub(crate) rules: Rules,
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProtoField {
    pub(crate) name: String,
    /// The key in JSON, if it is not the one that follows from the name.
    pub(crate) json_name: Option<String>,
    pub(crate) number: u32,
    pub(crate) shape: Shape,
    pub(crate) rules: Rules,
    pub(crate) comment: String,
}

/// The label of a field, with its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Without presence.
    Plain(FieldType),
    Optional(FieldType),
    Repeated(FieldType),
    /// The values by text.
    Map(FieldType),
}

/// The type of a field or an element.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldType {
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Double,
    Text,
    /// `google.protobuf.NullValue`.
    Null,
    /// A message of the file.
    Message(String),
    /// `google.protobuf.Value`, `Struct` or `ListValue`.
    Any(&'static str),
}

impl FieldType {
    /// The number in `FieldDescriptorProto.Type`.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Double => 1,
            Self::Int64 => 3,
            Self::Uint64 => 4,
            Self::Int32 => 5,
            Self::Bool => 8,
            Self::Text => 9,
            Self::Message(_) | Self::Any(_) => 11,
            Self::Uint32 => 13,
            Self::Null => 14,
        }
    }

    /// The name in a file.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Uint32 => "uint32".to_owned(),
            Self::Uint64 => "uint64".to_owned(),
            Self::Double => "double".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Null => "google.protobuf.NullValue".to_owned(),
            Self::Message(name) => name.clone(),
            Self::Any(name) => format!("google.protobuf.{name}"),
        }
    }

    /// The full name of a message or enum, with a leading dot.
    pub(crate) fn type_name(&self, package: &str) -> Option<String> {
        match self {
            Self::Message(name) => Some(format!(".{package}.{name}")),
            Self::Null | Self::Any(_) => Some(format!(".{}", self.name())),
            _ => None,
        }
    }

    pub(crate) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Any(_))
    }

    pub(crate) fn is_well_known(&self) -> bool {
        matches!(self, Self::Null | Self::Any(_))
    }
}

impl Shape {
    pub(crate) fn element(&self) -> &FieldType {
        match self {
            Self::Plain(element) | Self::Optional(element) | Self::Repeated(element) | Self::Map(element) => element,
        }
    }

    /// True for a scalar with presence, which is its own group: `_id` for a field `id`.
    pub(crate) fn has_group(&self) -> bool {
        matches!(self, Self::Optional(element) if !element.is_message())
    }
}

impl ProtoFile {
    /// True if a field has a type of `google/protobuf/struct.proto`.
    pub(crate) fn uses_struct(&self) -> bool {
        let mut fields = self.messages.iter().flat_map(|message| &message.fields);
        fields.any(|field| field.shape.element().is_well_known())
    }

    /// True if there are rules.
    pub(crate) fn has_rules(&self) -> bool {
        let has_rules = |message: &ProtoMessage| {
            !message.rules.is_empty() || message.fields.iter().any(|field| !field.rules.is_empty())
        };
        self.messages.iter().any(has_rules)
    }
}
