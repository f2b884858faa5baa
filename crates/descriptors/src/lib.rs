#![doc = include_str!("../README.md")]

pub mod convert;
mod editions;
mod json_weight;
mod limits;
mod message_error;
mod message_type;
#[cfg(feature = "validation")]
mod protovalidate;
mod reference;
pub mod registry;
mod schema;
mod schema_error;
mod survey;
mod validation;
mod weight;
mod well_known;
mod wide_numbers;
mod wire;

pub use limits::{MessageLimits, SchemaLimits};
pub use message_error::MessageError;
pub use message_type::{Message, MessageType, WideIntegers};
#[cfg(feature = "validation")]
pub use protovalidate::Protovalidate;
pub use reference::{
    FullName, Host, MAX_FULL_NAME, MAX_LABEL, MAX_MODULE, MAX_OWNER, Module, ReferenceError, SchemaRef, Strictness,
    Version,
};
pub use schema::Schema;
pub use schema_error::SchemaError;
pub use validation::{EntryPart, ValidationError, Validator, Violation};
