//! Every schema inside a schema, also with the keywords of draft 7.

use serde_json::{Map, Value};

/// Calls `visit` for a schema and for all schemas inside it, outer ones first.
pub(crate) fn each_subschema(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(object) = schema else { return };
    visit(object);
    for (keyword, value) in object.iter_mut() {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies",
                Value::Object(schemas),
            ) => {
                schemas.values_mut().for_each(|schema| each_subschema(schema, visit));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| each_subschema(schema, visit));
            }
            (
                "items"
                | "additionalItems"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "not"
                | "if"
                | "then"
                | "else",
                schema,
            ) => each_subschema(schema, visit),
            _ => {}
        }
    }
}
