//! The messages of a tool whose descriptors others have made: an inline schema, or one of a registry.

use std::sync::Arc;

use bytes::Bytes;
use protomcp_descriptors::convert::to_json_schema;
use protomcp_descriptors::{MessageType, Schema, SchemaLimits};
use protomcp_types::RawJson;
use serde_json::Value;

use crate::descriptors::budget::unusable;
use crate::descriptors::cache::{JsonSchemas, Wanted};
use crate::descriptors::messages::{Author, DescriptorMessages, Descriptors, Limits};
use crate::schemas::{MessageNames, SchemaError, ToolMessages};
use crate::well_known::STRUCT_NAME;

/// The messages of an inline schema. `output` is the JSON Schema of results that are a `Struct`.
pub(super) fn inline(
    set: Bytes,
    wanted: Wanted,
    output: Option<RawJson>,
    limits: &Limits,
) -> Result<Arc<dyn ToolMessages>, SchemaError> {
    let schema = Schema::decode(set, &SchemaLimits::default())
        .map_err(|error| unusable(format!("the schema cannot be loaded: {error}")))?;
    messages(&schema, wanted, output, limits)
}

/// The messages of a schema that is loaded.
pub(super) fn messages(
    schema: &Schema,
    wanted: Wanted,
    output: Option<RawJson>,
    limits: &Limits,
) -> Result<Arc<dyn ToolMessages>, SchemaError> {
    let input = match &wanted.input {
        Some(name) => schema.message(name).ok_or_else(|| unusable(format!("the schema has no message {name:?}")))?,
        None => schema
            .default_input()
            .ok_or_else(|| unusable("the schema does not say which message is the input".to_owned()))?,
    };
    let output_type = match &wanted.output {
        Some(name) => {
            Some(schema.message(name).ok_or_else(|| unusable(format!("the schema has no message {name:?}")))?)
        }
        None => schema.default_output(&input),
    };
    let json_input =
        object_schema(&input)?.ok_or_else(|| unusable(format!("{} is not an object in JSON", input.full_name())))?;
    let json_output = match &output_type {
        Some(name) if name.full_name() == STRUCT_NAME && output.is_some() => output,
        Some(message) => object_schema(message)?,
        None => None,
    };
    let names = MessageNames {
        bsr_ref: wanted.bsr_ref,
        input_type: input.full_name().to_owned(),
        output_type: output_type.map(|message| message.full_name().to_owned()),
    };
    let descriptors = Descriptors {
        complete: schema.bytes().clone(),
        without_well_known: schema.bytes_without_common_files(),
        author: Author::Other,
    };
    let schemas = JsonSchemas { input: json_input, output: json_output };
    Ok(Arc::new(DescriptorMessages::new(names, descriptors, schemas, limits)))
}

/// The JSON Schema of a message that is an object in JSON: MCP takes no others.
fn object_schema(message: &MessageType) -> Result<Option<RawJson>, SchemaError> {
    let schema = to_json_schema(message).map_err(|error| unusable(format!("{}: {error}", message.full_name())))?;
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    Ok(if is_object { RawJson::of(&schema).ok() } else { None })
}
