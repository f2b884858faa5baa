//! A walk over a schema and the schemas inside it.

use serde_json::Value;

use crate::fault::Fault;

/// Keywords with one schema.
const ONE: [&str; 10] = [
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with a list of schemas. `items` was one of them before 2020-12.
const LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords with schemas by name.
pub(crate) const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Keywords with values, in which nothing is a schema.
pub(crate) const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];
/// Keywords that refer to another schema.
pub(crate) const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Calls `visit` with the schema and every schema inside it, each after a pointer to it.
pub(super) fn walk<'a>(schema: &'a Value, pointer: &str, visit: &mut impl FnMut(&str, &'a Value)) {
    visit(pointer, schema);
    let Some(members) = schema.as_object() else { return };
    for (keyword, value) in members {
        let keyword = keyword.as_str();
        match value {
            Value::Array(schemas) if LIST.contains(&keyword) => {
                for (index, inner) in schemas.iter().enumerate() {
                    walk(inner, &format!("{pointer}/{keyword}/{index}"), visit);
                }
            }
            Value::Object(schemas) if NAMED.contains(&keyword) => {
                for (name, inner) in schemas {
                    walk(inner, &format!("{pointer}/{keyword}/{}", escaped(name)), visit);
                }
            }
            Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword) => {
                walk(value, &format!("{pointer}/{keyword}"), visit);
            }
            _ => {}
        }
    }
}

/// Calls `visit` with the schema and every schema inside it, which it may change. Inner ones come last.
pub(crate) fn walk_mut(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    visit(schema);
    let Some(members) = schema.as_object_mut() else { return };
    for (keyword, value) in members {
        let keyword = keyword.as_str();
        match value {
            Value::Array(schemas) if LIST.contains(&keyword) => {
                schemas.iter_mut().for_each(|inner| walk_mut(inner, visit));
            }
            Value::Object(schemas) if NAMED.contains(&keyword) => {
                schemas.values_mut().for_each(|inner| walk_mut(inner, visit));
            }
            Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword) => walk_mut(value, visit),
            _ => {}
        }
    }
}

/// A name as a part of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The first place in the input schema where `fault` has a text, with the number of the others.
pub(super) fn first(schema: &Value, fix: &str, mut fault: impl FnMut(&str, &Value) -> Option<String>) -> Option<Fault> {
    let mut found: Option<Fault> = None;
    walk(schema, "/inputSchema", &mut |pointer, schema| {
        let Some(issue) = fault(pointer, schema) else { return };
        match &mut found {
            Some(first) => first.more += 1,
            None => found = Some(Fault::new(pointer, issue, fix)),
        }
    });
    found
}

/// The reference of a schema to another one.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    REFERENCES.into_iter().find_map(|keyword| schema.get(keyword)?.as_str())
}

/// True if the schema says that its values are of this type.
pub(super) fn is_of_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(many) => many.iter().any(|one| one == name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_schema_is_visited_once_and_no_value() {
        let schema = json!({
            "properties": {"a/b": {"items": {"x": 1}}, "enum": {"anyOf": [{}, true]}},
            "additionalProperties": false, "$defs": {"c": {"not": {}}}, "default": {"properties": {"no": {}}},
            "items": [{}], "enum": [{"properties": {}}],
        });
        let mut found = Vec::new();
        walk(&schema, "", &mut |pointer, _| found.push(pointer.to_owned()));
        found.sort();
        assert_eq!(
            found,
            [
                "",
                "/$defs/c",
                "/$defs/c/not",
                "/additionalProperties",
                "/items/0",
                "/properties/a~1b",
                "/properties/a~1b/items",
                "/properties/enum",
                "/properties/enum/anyOf/0",
                "/properties/enum/anyOf/1",
            ]
        );
    }
}
