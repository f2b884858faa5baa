//! The place where JSON becomes protobuf and back: a trait, so that this crate needs no descriptors.
//!
//! MCP describes a tool by JSON Schemas, proto-mcp by messages. [`ToolSchemas`] finds the messages of a tool, which may
//! need a registry; the [`ToolMessages`] that it returns convert. `StructSchemas` is enough for tools whose arguments may
//! be a `google.protobuf.Struct`; `DescriptorSchemas`, of the feature `descriptors`, has a message for each tool.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use protomcp_types::{RawJson, Tool};

use crate::any::Any;
use crate::message;

/// Finds the messages of tools.
///
/// Both methods are called for every list and every call, and the calls for one tool may overlap. An implementation keeps
/// what it has found, for as long as it holds: until the tool changes, or until a label of the registry may have moved.
pub trait ToolSchemas: Send + Sync + 'static {
    /// The messages of a tool that has JSON Schemas, for a server that shows it to clients of proto-mcp.
    ///
    /// # Errors
    /// If the schemas cannot be expressed, or the reference in the tool's `_meta` cannot be resolved.
    fn of_json<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>>;

    /// The messages of a tool of a proto-mcp server: behind its reference, or in its inline schema. For a client.
    ///
    /// # Errors
    /// If the reference cannot be resolved, or the schema is not acceptable.
    fn of_proto<'a>(&'a self, tool: &'a message::Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>>;

    /// The reference of a tool that has JSON Schemas, without resolving it: listing references needs no registry. `None`
    /// by default.
    fn reference(&self, tool: &Tool) -> Option<String> {
        let _ = tool;
        None
    }

    /// True if tools may have a reference to a registry. It is the server's half of `supports_bsr_refs`.
    fn has_references(&self) -> bool {
        false
    }
}

/// The input message and the output message of one tool.
///
/// Conversions of arguments validate: what they return satisfies the rules of its message, if these are known.
/// Conversions are called on a thread that serves others, too: one that may take long happens on its own thread, with a
/// limit on its time.
pub trait ToolMessages: Send + Sync + 'static {
    /// The names of the messages.
    fn names(&self) -> &MessageNames;

    /// An encoded `google.protobuf.FileDescriptorSet` that defines them, with the imports that `imports` asks for, and with
    /// comments. The bytes are sent as they are.
    fn descriptor_set(&self, imports: Imports) -> Bytes;

    /// The JSON Schema of the arguments.
    fn input_schema(&self) -> RawJson;

    /// The JSON Schema of a structured result.
    fn output_schema(&self) -> Option<RawJson>;

    /// The parts of the JSON Schemas that the messages do not express, as a JSON array; `None`: they express everything.
    fn losses(&self) -> Option<String> {
        None
    }

    /// The arguments of a call as a JSON object. `None` is the empty message.
    ///
    /// # Errors
    /// [`SchemaError::Invalid`] for another type or undecodable bytes, [`SchemaError::Violations`] for broken rules.
    fn arguments_to_json<'a>(&'a self, arguments: Option<&'a Any>) -> BoxFuture<'a, Result<RawJson, SchemaError>>;

    /// The arguments of a call as a message.
    ///
    /// # Errors
    /// See [`ToolMessages::arguments_to_json`].
    fn arguments_to_any<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Result<Any, SchemaError>>;

    /// A structured result as a message: the output message, or else a well-known type.
    ///
    /// # Errors
    /// If no message can hold it.
    fn result_to_any<'a>(&'a self, structured: &'a RawJson) -> BoxFuture<'a, Result<Converted<Any>, SchemaError>>;

    /// The message of a result as JSON.
    ///
    /// # Errors
    /// If its type is unknown, or its bytes are not such a message.
    fn result_to_json<'a>(&'a self, data: &'a Any) -> BoxFuture<'a, Result<Converted<RawJson>, SchemaError>>;
}

/// The imports in a descriptor set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Imports {
    /// All of them: the set needs no other file.
    #[default]
    Complete,
    /// Without the files of `google/protobuf` and `buf/validate/validate.proto`, for a peer that has declared
    /// `experimental["wkt_builtin"]`.
    WithoutWellKnown,
}

/// The names of the messages of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageNames {
    /// The reference to the input message, as `bsr_ref` of `buf.mcp.v1.Tool`; `None`: the tool is in no registry.
    pub bsr_ref: Option<String>,
    /// The full name of the input message, such as `acme.tools.v1.SearchRequest`.
    pub input_type: String,
    /// The full name of the output message; `None`: results have no fixed type.
    pub output_type: Option<String>,
}

/// A converted value, and the part of it that is not exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted<T> {
    /// The value.
    pub value: T,
    /// JSON Pointers to numbers that the target cannot hold exactly, such as integers beyond 2^53 in a
    /// `google.protobuf.Struct`. At most [`Converted::MAX_INEXACT`].
    pub inexact: Vec<String>,
}

impl<T> Converted<T> {
    /// The most pointers to inexact numbers.
    pub const MAX_INEXACT: usize = 16;

    /// An exact conversion.
    pub fn exact(value: T) -> Self {
        Self { value, inexact: Vec::new() }
    }
}

/// The failure of a conversion, or of the search for a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// There is no schema. −33000.
    #[error("{message}")]
    Unresolved {
        /// The reason.
        cause: Unresolved,
        /// The reason for people, without secrets.
        message: String,
    },
    /// The value is of the wrong type, or malformed. −32602.
    #[error("{0}")]
    Invalid(String),
    /// The value breaks rules of its schema. −33001.
    #[error("{}", Violation::summary(.0))]
    Violations(Vec<Violation>),
}

/// The reason why a schema was not found, as in `data.cause` of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unresolved {
    /// The registry does not have it.
    NotFound,
    /// The registry did not answer.
    Unavailable,
    /// The registry wants other credentials.
    Unauthenticated,
    /// The registry wants fewer requests.
    RateLimited,
    /// The reference is malformed, or names a registry that is not allowed.
    InvalidRef,
    /// The schema itself is unusable: incomplete, too large, or without the message.
    InvalidSchema,
}

impl Unresolved {
    /// The value of `data.cause`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unavailable => "unavailable",
            Self::Unauthenticated => "unauthenticated",
            Self::RateLimited => "rate_limited",
            Self::InvalidRef => "invalid_ref",
            Self::InvalidSchema => "invalid_schema",
        }
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field, such as `filter.dates[1]`.
    pub field: String,
    /// The id of the rule, such as `string.min_len`.
    pub rule_id: String,
    /// The rule in words.
    pub message: String,
}

impl Violation {
    fn summary(violations: &[Self]) -> String {
        match violations {
            [] => "the value breaks a rule of its schema".to_owned(),
            [first] => first.to_string(),
            [first, rest @ ..] => format!("{first}, and {} more", rest.len()),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.field, self.message, self.rule_id)
    }
}
