//! The part of a schema that is about the patterns of texts.

use std::collections::HashMap;
use std::ptr;

use serde_json::{Map, Value};

use crate::walk::references::References;

/// Keywords that say where and by which patterns texts are matched.
const KEPT: [&str; 6] = ["$schema", "$id", "$anchor", "$ref", "pattern", "format"];
/// Keywords with one schema.
const SCHEMAS: [&str; 4] = ["items", "additionalItems", "additionalProperties", "propertyNames"];
/// Keywords with a list of schemas, all of which apply.
const LISTS: [&str; 3] = ["allOf", "prefixItems", "items"];
/// Keywords with schemas by name.
const MAPS: [&str; 4] = ["$defs", "definitions", "properties", "patternProperties"];
/// Keywords with a list of schemas, one of which applies.
const UNIONS: [&str; 2] = ["anyOf", "oneOf"];
/// The keyword for the targets of references to parts that are left out. It applies no schema.
const TARGETS: &str = "x-targets";

/// The schema with nothing but its patterns, and its unions in which there is one. `None` if it has no pattern.
pub(crate) fn patterns(schema: &Value) -> Option<Value> {
    has_pattern(schema).then(|| {
        let left = reduced(schema);
        let mut kept = left.clone();
        let (schema, left) = (References::of(schema), References::of(&left));
        let mut targets = Targets { schema, left, known: HashMap::new(), found: Vec::new() };
        targets.redirect(&mut kept);
        let mut moved = Vec::new();
        while let Some(target) = targets.found.get(moved.len()).copied() {
            let mut target = reduced(target);
            targets.redirect(&mut target);
            moved.push(target);
        }
        if !moved.is_empty() {
            kept[TARGETS] = Value::Array(moved);
        }
        kept
    })
}

/// The targets of references to parts that are left out.
struct Targets<'a> {
    schema: References<'a>,
    left: References<'a>,
    /// Their positions, by their places in memory.
    known: HashMap<*const Value, usize>,
    found: Vec<&'a Value>,
}

impl Targets<'_> {
    /// Changes the references to parts that are left out.
    fn redirect(&mut self, part: &mut Value) {
        match part {
            Value::Object(members) => members.iter_mut().for_each(|(name, value)| match value {
                Value::String(reference) if name == "$ref" => self.redirect_one(reference),
                value => self.redirect(value),
            }),
            Value::Array(parts) => parts.iter_mut().for_each(|part| self.redirect(part)),
            _ => {}
        }
    }

    fn redirect_one(&mut self, reference: &mut String) {
        if self.left.target(reference).is_some() {
            return;
        }
        let Some(target) = self.schema.target(reference) else { return };
        let position = *self.known.entry(ptr::from_ref(target)).or_insert_with(|| {
            self.found.push(target);
            self.found.len() - 1
        });
        *reference = format!("#/{TARGETS}/{position}");
    }
}

fn reduced(schema: &Value) -> Value {
    let Some(keywords) = schema.as_object() else { return Value::Bool(true) };
    let mut kept = Map::new();
    for (keyword, value) in keywords {
        let keyword = keyword.as_str();
        let is_union = UNIONS.contains(&keyword);
        let part = match value {
            _ if KEPT.contains(&keyword) => value.clone(),
            Value::Object(schemas) if MAPS.contains(&keyword) => {
                schemas.iter().map(|(name, schema)| (name.clone(), reduced(schema))).collect()
            }
            Value::Object(_) if SCHEMAS.contains(&keyword) => reduced(value),
            Value::Array(schemas) if LISTS.contains(&keyword) => schemas.iter().map(reduced).collect(),
            // A text that matches no branch is told from a number by the types of the branches.
            Value::Array(branches) if is_union && branches.iter().any(may_have_pattern) => value.clone(),
            _ => continue,
        };
        kept.insert(keyword.to_owned(), part);
    }
    Value::Object(kept)
}

fn has_pattern(schema: &Value) -> bool {
    has_text(schema, &["pattern"])
}

/// Like [`has_pattern`], or it refers to a schema that may have one.
fn may_have_pattern(schema: &Value) -> bool {
    has_text(schema, &["pattern", "$ref"])
}

/// True if one of these names has a text, at any depth.
fn has_text(value: &Value, names: &[&str]) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| names.contains(&name.as_str()) && value.is_string() || has_text(value, names)),
        Value::Array(values) => values.iter().any(|value| has_text(value, names)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_but_patterns_is_left() {
        let word = json!({"type": "string", "minLength": 2, "pattern": "^a"});
        for (schema, expected) in [
            (json!({"type": "object", "properties": {"n": {"type": "number"}}}), None),
            (json!({"properties": {"pattern": {"type": "string"}}}), None),
            (
                json!({"type": "object", "required": ["s"], "properties": {"s": word, "n": {"type": "number"}}}),
                Some(json!({"properties": {"s": {"pattern": "^a"}, "n": {}}})),
            ),
            (
                json!({"items": word, "additionalProperties": false, "uniqueItems": true, "not": word}),
                Some(json!({"items": {"pattern": "^a"}})),
            ),
            (
                json!({"$ref": "#/$defs/w", "$defs": {"w": word, "yes": true}}),
                Some(json!({"$ref": "#/$defs/w", "$defs": {"w": {"pattern": "^a"}, "yes": true}})),
            ),
            (
                json!({"allOf": [word, {"anyOf": [{"type": "number"}, {"type": "null"}]}], "anyOf": [word, {"type": "number"}]}),
                Some(json!({"allOf": [{"pattern": "^a"}, {}], "anyOf": [word, {"type": "number"}]})),
            ),
            (json!({"propertyNames": {"pattern": "^x"}}), Some(json!({"propertyNames": {"pattern": "^x"}}))),
            // The targets of references are kept.
            (
                json!({"not": {"$anchor": "n", "type": "number"}, "properties": {"m": {"$ref": "#n"}, "s": word}}),
                Some(json!({
                    "properties": {"m": {"$ref": "#/x-targets/0"}, "s": {"pattern": "^a"}},
                    "x-targets": [{"$anchor": "n"}],
                })),
            ),
            (
                json!({"properties": {"n": {"anyOf": [{"type": "number"}]}, "m": {"$ref": "#/properties/n/anyOf/0"}, "s": word}}),
                Some(json!({
                    "properties": {"n": {}, "m": {"$ref": "#/x-targets/0"}, "s": {"pattern": "^a"}},
                    "x-targets": [{}],
                })),
            ),
            (
                json!({"$ref": "#/parts/a%20b", "parts": {"a b": {"pattern": "^a", "items": {"$ref": "#/parts/a b"}}}}),
                Some(json!({
                    "$ref": "#/x-targets/0",
                    "x-targets": [{"pattern": "^a", "items": {"$ref": "#/x-targets/0"}}],
                })),
            ),
        ] {
            assert_eq!(patterns(&schema), expected, "{schema}");
        }
    }
}
