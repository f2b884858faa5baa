//! Definitions of tools.

use std::collections::BTreeMap;

use protomcp_types::{Tool, ToolAnnotations};

use crate::message;
use crate::message::tool::SchemaSource;
use crate::metadata::{
    ANNOTATIONS, BSR_REF, INPUT_SCHEMA, INPUT_TYPE, OUTPUT_SCHEMA, OUTPUT_TYPE, SCHEMA_ERROR, SCHEMA_LOSSES, TITLE,
};
use crate::schemas::{Imports, SchemaError, ToolMessages};
use crate::well_known::STRUCT_NAME;

/// The schema that a client gets.
pub(crate) enum ToolSource<'a> {
    /// Only the reference.
    Reference(String),
    /// The descriptors.
    Inline(&'a dyn ToolMessages, Imports),
    /// The reference if there is one, because the schema was not found.
    Failed(Option<String>, &'a SchemaError),
}

/// Converts the definition of a tool, with its schema from `source`.
pub(crate) fn tool_to_proto(tool: &Tool, source: ToolSource<'_>) -> message::Tool {
    let mut metadata = BTreeMap::new();
    let mut put = |key: &str, value: String| drop(metadata.insert(key.to_owned(), value));
    let schema_source = match source {
        ToolSource::Reference(reference) => Some(SchemaSource::BsrRef(reference)),
        ToolSource::Inline(messages, imports) => {
            let names = messages.names();
            put(INPUT_TYPE, names.input_type.clone());
            names.output_type.iter().for_each(|name| put(OUTPUT_TYPE, name.clone()));
            names.bsr_ref.iter().for_each(|reference| put(BSR_REF, reference.clone()));
            // A `Struct` says only that it is an object.
            if names.input_type == STRUCT_NAME {
                put(INPUT_SCHEMA, messages.input_schema().as_str().to_owned());
            }
            if let Some(schema) = messages.output_schema()
                && names.output_type.as_deref() == Some(STRUCT_NAME)
            {
                put(OUTPUT_SCHEMA, schema.as_str().to_owned());
            }
            messages.losses().into_iter().for_each(|losses| put(SCHEMA_LOSSES, losses));
            Some(SchemaSource::InlineSchema(messages.descriptor_set(imports)))
        }
        ToolSource::Failed(reference, error) => {
            put(SCHEMA_ERROR, error.to_string());
            reference.map(SchemaSource::BsrRef)
        }
    };
    let annotations = tool.annotations.as_ref();
    tool.title.iter().chain(annotations.and_then(|known| known.title.as_ref())).take(1).for_each(|title| {
        put(TITLE, title.clone());
    });
    for (name, hint) in annotations.into_iter().flat_map(hints) {
        put(&format!("{ANNOTATIONS}{name}"), hint.to_string());
    }
    let description = tool.description.clone().unwrap_or_default();
    message::Tool { name: tool.name.to_string(), description, schema_source, metadata }
}

fn hints(annotations: &ToolAnnotations) -> impl Iterator<Item = (&'static str, bool)> {
    let hints = [
        ("readOnlyHint", annotations.read_only_hint),
        ("destructiveHint", annotations.destructive_hint),
        ("idempotentHint", annotations.idempotent_hint),
        ("openWorldHint", annotations.open_world_hint),
    ];
    hints.into_iter().filter_map(|(name, hint)| Some((name, hint?)))
}
