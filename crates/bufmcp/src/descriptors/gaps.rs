//! Values that a message does not tell from missing ones: an empty list, an empty map, and null.
//!
//! A JSON Schema can require them. They are put back where it does, so that the tool gets arguments that fit its schema.

use protomcp_descriptors::convert::local_pointer;
use serde_json::{Map, Value};

/// The references that are followed one after the other.
const MAX_REFERENCES: usize = 16;

/// A JSON Schema that requires such values.
#[derive(Debug)]
pub(super) struct Gaps(Value);

impl Gaps {
    /// The gaps of a schema; `None` if it has none.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        has_gaps(schema, schema).then(|| Self(schema.clone()))
    }

    /// Puts the values back. A text that is not JSON stays as it is.
    pub(super) fn fill(&self, json: String) -> String {
        let Ok(mut value) = serde_json::from_str(&json) else { return json };
        self.fill_value(&self.0, &mut value);
        value.to_string()
    }

    /// The depth is the value's.
    fn fill_value(&self, schema: &Value, value: &mut Value) {
        let Some(schema) = dereference(&self.0, schema) else { return };
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let Some(part) = dereference(&self.0, part).filter(|part| part.get("allOf").is_none()) {
                self.fill_value(part, value);
            }
        }
        match value {
            Value::Object(members) => {
                for (key, missing) in required(&self.0, schema) {
                    members.entry(key).or_insert(missing);
                }
                for (key, member) in members {
                    let inner = schema.get("properties").and_then(|list| list.get(key.as_str()));
                    if let Some(inner) = inner.or_else(|| schema.get("additionalProperties")) {
                        self.fill_value(inner, member);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    if let Some(inner) = schema.get("items") {
                        self.fill_value(inner, item);
                    }
                }
            }
            _ => {}
        }
    }
}

/// True if an object somewhere in the schema requires a value that may be lost.
fn has_gaps(root: &Value, schema: &Value) -> bool {
    let Some(members) = schema.as_object() else {
        return schema.as_array().is_some_and(|parts| parts.iter().any(|part| has_gaps(root, part)));
    };
    required(root, schema).next().is_some() || members.values().any(|part| has_gaps(root, part))
}

/// The keys of an object that are required and may be lost, with their values.
fn required<'a>(root: &'a Value, schema: &'a Value) -> impl Iterator<Item = (String, Value)> + 'a {
    let keys = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    keys.filter_map(move |key| Some((key.to_owned(), lost(dereference(root, schema.get("properties")?.get(key)?)?)?)))
}

/// The value that is lost where this schema describes it: `None` if none is.
fn lost(schema: &Value) -> Option<Value> {
    let is = |name: &str| match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        _ => false,
    };
    let any_of = ["anyOf", "oneOf"].iter().filter_map(|keyword| schema.get(*keyword)?.as_array()).flatten();
    let filled = |keyword: &str| schema.get(keyword).and_then(Value::as_object).is_some_and(|list| !list.is_empty());
    if is("array") {
        Some(Value::Array(Vec::new()))
    } else if is("null")
        || schema.get("nullable") == Some(&Value::Bool(true))
        || any_of.into_iter().any(|one| one.get("type").is_some_and(|name| name == "null"))
    {
        Some(Value::Null)
    } else if is("object") && !filled("properties") && filled("additionalProperties") {
        Some(Value::Object(Map::new()))
    } else {
        None
    }
}

fn dereference<'a>(root: &'a Value, mut schema: &'a Value) -> Option<&'a Value> {
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = schema.get("$ref") else { return Some(schema) };
        schema = root.pointer(&local_pointer(reference.as_str()?)?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn required_values_come_back() {
        let schema = json!({
            "type": "object",
            "required": ["list", "map", "none", "either", "inner", "text"],
            "properties": {
                "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "none": {"type": ["string", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "inner": {"$ref": "#/$defs/item"},
                "text": {"type": "string"},
                "optional": {"type": "array"},
            },
            "$defs": {"item": {"type": "object", "required": ["tags"], "properties": {"tags": {"type": "array"}}}},
        });
        let gaps = Gaps::of(&schema).unwrap();
        let filled: Value = serde_json::from_str(&gaps.fill(r#"{"inner":{}}"#.into())).unwrap();
        assert_eq!(filled, json!({"list": [], "map": {}, "none": null, "either": null, "inner": {"tags": []}}));
        let given =
            json!({"list": [{}, {"tags": [1]}], "map": {"a": "b"}, "none": "x", "either": 5, "inner": {"tags": []}});
        let filled: Value = serde_json::from_str(&gaps.fill(given.to_string())).unwrap();
        assert_eq!(filled["list"], json!([{"tags": []}, {"tags": [1]}]));
        assert_eq!((&filled["none"], &filled["either"]), (&json!("x"), &json!(5)));
    }

    #[test]
    fn most_schemas_have_no_gaps() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}),
            json!({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}),
            json!({"$ref": "#"}),
        ] {
            assert!(Gaps::of(&schema).is_none(), "{schema}");
        }
        let recursive = json!({"required": ["a"], "properties": {"a": {"$ref": "#"}, "b": {"allOf": [{"$ref": "#"}]}}});
        assert!(Gaps::of(&recursive).is_none());
    }
}
