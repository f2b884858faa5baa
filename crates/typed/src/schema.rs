//! JSON Schemas, inferred from Rust types and simplified for models and clients.
//!
//! `edit` adds what the type cannot express.

pub(crate) mod edit;
pub(crate) mod walk;

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::schema::walk::each_subschema;

/// The direction in which values of a type travel: fields that are skipped or have defaults differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// Formats that JSON Schema does not define and some clients reject; the limits next to them express the same.
const RUST_FORMATS: &[&str] = &[
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64", "uint128", "uint",
    "float", "double",
];

/// The schema of a type (JSON Schema 2020-12, the default dialect of MCP), with references only for types that contain
/// themselves.
pub(crate) fn infer<T: JsonSchema>(direction: Direction) -> Value {
    let contract = match direction {
        Direction::In => Contract::Deserialize,
        Direction::Out => Contract::Serialize,
    };
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        // The name of a Rust type has no meaning for a model.
        root.remove("title");
    }
    each_subschema(&mut schema, &mut |object| {
        if object.get("format").and_then(Value::as_str).is_some_and(|format| RUST_FORMATS.contains(&format)) {
            object.remove("format");
        }
    });
    schema
}

/// Makes a schema of arguments: the root must be an object (MCP 2025-11-25, server/tools). `None` if the type is never
/// an object.
pub(crate) fn into_object(schema: Value) -> Option<Value> {
    match schema {
        Value::Bool(true) => Some(json!({"type": "object"})),
        Value::Object(mut root) => match root.get("type") {
            Some(kind) if *kind == json!("object") => Some(Value::Object(root)),
            // `Option<Args>`: absent arguments are an empty object, so `null` never occurs.
            Some(Value::Array(kinds)) if kinds.contains(&json!("object")) => {
                root.insert("type".into(), json!("object"));
                Some(Value::Object(root))
            }
            Some(_) => None,
            None => {
                let mut typed = Map::new();
                typed.insert("type".into(), json!("object"));
                typed.extend(root);
                Some(Value::Object(typed))
            }
        },
        _ => None,
    }
}

/// True if every matching value is an object.
pub(crate) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// The schema of `{"result": …}` around a value that is not an object: before 2026-07-28 structured content must be
/// one.
pub(crate) fn wrap(mut schema: Value) -> Value {
    // A type that contains itself.
    each_subschema(&mut schema, &mut |object| {
        if let Some(Value::String(reference)) = object.get_mut("$ref")
            && reference == "#"
        {
            *reference = format!("#/properties/{WRAPPED}");
        }
    });
    let definitions = schema.as_object_mut().and_then(|object| object.remove("$defs"));
    let mut root = json!({"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED]});
    if let (Some(definitions), Value::Object(root)) = (definitions, &mut root) {
        root.insert("$defs".into(), definitions);
    }
    root
}

/// The name of the only member of a wrapped value.
pub(crate) const WRAPPED: &str = "result";

/// Forbids members that the type does not name, unless that could contradict another part of the schema.
pub(crate) fn close(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    let combines = ["allOf", "anyOf", "oneOf", "if", "$ref"].iter().any(|keyword| object.contains_key(*keyword));
    let named = object.contains_key("properties");
    let is_object = object.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.contains(&json!("object")),
        kind => *kind == json!("object"),
    });
    if !combines && is_object && !object.contains_key("additionalProperties") {
        object.entry("properties").or_insert_with(|| json!({}));
        object.insert("additionalProperties".into(), Value::Bool(false));
    }
    for (keyword, value) in object.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(schemas)) => schemas.values_mut().for_each(close),
            ("items" | "additionalProperties", schema) => close(schema),
            ("prefixItems", Value::Array(schemas)) => schemas.iter_mut().for_each(close),
            // In addition to named members, a branch describes only a part of the object.
            ("anyOf" | "oneOf", Value::Array(schemas)) if !named => schemas.iter_mut().for_each(close),
            _ => {}
        }
    }
}

/// The single values that a schema allows, as text: for completion and for messages. Empty if it allows others, too.
pub(crate) fn choices(schema: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().filter_map(text).collect();
    }
    if let Some(value) = schema.get("const") {
        return text(value).into_iter().collect();
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
            let named = branches.iter().filter(|branch| !is_null(branch)).map(choices);
            // A branch without any allows other values.
            let all: Option<Vec<_>> = named.map(|some| (!some.is_empty()).then_some(some)).collect();
            return all.unwrap_or_default().concat();
        }
    }
    match schema.get("type") {
        Some(kind) if *kind == json!("boolean") => vec!["true".to_owned(), "false".to_owned()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
