//! The work that a schema can make of a small value.
//!
//! The library remembers what it has found out about a value only for schemas that contain themselves. Where references just
//! multiply (each definition names the next one twice), a value takes twice the work for each definition.

use std::collections::HashMap;
use std::ptr;

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::walk::references::References;

/// The most comparisons that one member or element of a value may take.
pub(crate) const MAX_COMPARISONS: usize = 1 << 20;
/// The same for schemas that ask for the members that no other schema has evaluated: the library compiles each way to them.
const MAX_UNEVALUATED: usize = 1 << 12;
/// The schemas inside one another, references included.
const MAX_DEPTH: usize = 1_000;

/// Keywords that apply schemas to the value itself.
const IN_PLACE: [&str; 11] =
    ["$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema"];

/// The comparisons that one member or element of a value can take, at most: the comparisons of each schema that applies
/// to it, and again of each for what is inside of it.
///
/// # Errors
/// If they are too many, or cannot be counted, in words.
pub(crate) fn comparisons(schema: &Value, draft: Draft) -> Result<usize, &'static str> {
    let references = References::new(schema, draft);
    let mut count = Count { references, known: HashMap::new(), depth: 0, is_too_deep: false, looks_for_rest: false };
    let comparisons = count.of(schema);
    let most = if count.looks_for_rest { MAX_UNEVALUATED } else { MAX_COMPARISONS };
    if count.is_too_deep {
        return Err("more than 1,000 of its schemas are inside one another");
    }
    if comparisons > most {
        return Err("its references multiply: a small value could take millions of comparisons");
    }
    Ok(comparisons)
}

struct Count<'a> {
    references: References<'a>,
    /// `None`: under way. A schema that contains itself is remembered by the library.
    known: HashMap<*const Value, Option<usize>>,
    depth: usize,
    is_too_deep: bool,
    /// A schema asks for the members or elements that no other one has evaluated.
    looks_for_rest: bool,
}

impl<'a> Count<'a> {
    fn of(&mut self, schema: &'a Value) -> usize {
        let Value::Object(keywords) = schema else { return 1 };
        if let Some(known) = self.known.get(&ptr::from_ref(schema)) {
            return known.unwrap_or(1);
        }
        if self.depth == MAX_DEPTH {
            self.is_too_deep = true;
            return 1;
        }
        self.depth += 1;
        self.known.insert(ptr::from_ref(schema), None);
        let (mut here, mut inside) = (1_usize, 0);
        // Several of these apply to one element or member.
        let (mut elements, mut contained, mut named, mut patterns) = (0, 0, 0, 0_usize);
        for (keyword, value) in keywords {
            self.looks_for_rest |= keyword.starts_with("unevaluated");
            match keyword.as_str() {
                keyword if IN_PLACE.contains(&keyword) => here = here.saturating_add(self.all(value)),
                "dependentSchemas" | "dependencies" => here = here.saturating_add(self.all_named(value)),
                "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" => {
                    elements = elements.max(self.largest(value));
                }
                "contains" => contained = self.of(value),
                "properties" => named = self.largest_named(value),
                "patternProperties" => patterns = self.all_named(value),
                _ => inside = inside.max(self.largest(value)),
            }
        }
        inside = inside.max(contained.saturating_add(elements)).max(patterns.saturating_add(named));
        let count = here.saturating_add(inside);
        self.known.insert(ptr::from_ref(schema), Some(count));
        self.depth -= 1;
        count
    }

    /// The sum for all schemas of a keyword, which may be a reference.
    fn all(&mut self, value: &'a Value) -> usize {
        match value {
            // Of several documents, the one that costs most.
            Value::String(reference) => {
                let candidates = self.references.candidates(reference);
                candidates.into_iter().map(|schema| self.of(schema)).max().unwrap_or(1)
            }
            Value::Array(schemas) => schemas.iter().fold(0, |sum: usize, schema| sum.saturating_add(self.of(schema))),
            schema => self.of(schema),
        }
    }

    /// The sum for all schemas of a map.
    fn all_named(&mut self, map: &'a Value) -> usize {
        let schemas = map.as_object().into_iter().flat_map(Map::values);
        schemas.fold(0, |sum: usize, schema| sum.saturating_add(self.of(schema)))
    }

    /// The largest of all schemas of a keyword. For the members of `$defs` the names count as keywords.
    fn largest(&mut self, value: &'a Value) -> usize {
        match value {
            Value::Array(schemas) => schemas.iter().map(|schema| self.of(schema)).max().unwrap_or(0),
            schema => self.of(schema),
        }
    }

    /// The largest of all schemas of a map.
    fn largest_named(&mut self, map: &'a Value) -> usize {
        let schemas = map.as_object().into_iter().flat_map(Map::values);
        schemas.map(|schema| self.of(schema)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validator::Validator;

    /// Definitions of which each refers to the next one.
    fn chain(length: usize, link: impl Fn(&Value) -> Value) -> Value {
        let reference = |index: usize| json!({"$ref": format!("#/$defs/d{index}")});
        let mut definitions: Map<String, Value> =
            (0..length).map(|index| (format!("d{index}"), link(&reference(index + 1)))).collect();
        definitions.insert(format!("d{length}"), json!({"type": "integer"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn references_that_multiply_are_refused() {
        let twice = |keyword: &'static str| move |next: &Value| json!({keyword: [next, next]});
        for (what, schema, is_refused) in [
            ("a chain", chain(200, |next| json!({"allOf": [next]})), false),
            ("few choices", chain(8, twice("anyOf")), false),
            ("choices", chain(40, twice("anyOf")), true),
            ("combinations", chain(40, twice("allOf")), true),
            ("conditions", chain(40, |next| json!({"if": next, "then": next, "else": next})), true),
            (
                "inside",
                chain(40, |next| json!({"anyOf": [{"properties": {"a": next}}, {"properties": {"a": next}}]})),
                true,
            ),
            ("many members", chain(40, |next| json!({"properties": {"a": next, "b": next, "c": next}})), false),
            ("elements", chain(40, |next| json!({"items": next, "contains": next})), true),
            ("first elements", chain(40, |next| json!({"prefixItems": [next], "items": next})), false),
            ("a member", chain(40, |next| json!({"properties": {"a": next}, "patternProperties": {"a": next}})), true),
            ("patterns", chain(40, |next| json!({"patternProperties": {"a": next, "^a": next}})), true),
            (
                "other members",
                chain(40, |next| json!({"properties": {"a": next}, "additionalProperties": next})),
                false,
            ),
            ("names of keywords", chain(40, |next| json!({"properties": {"items": next, "contains": next}})), false),
            ("dependencies", chain(40, |next| json!({"dependentSchemas": {"a": next, "b": next}})), true),
            (
                "itself",
                json!({"$defs": {"n": {"anyOf": [{"items": {"$ref": "#/$defs/n"}}, {"items": {"$ref": "#/$defs/n"}}]}}, "$ref": "#/$defs/n"}),
                false,
            ),
            ("with an identifier", identified(chain(40, twice("anyOf")), "https://example.com/s"), true),
            ("with an example", with(chain(40, twice("anyOf")), "examples", &json!([{"id": "x", "$id": "y"}])), true),
            ("with a document inside", with(chain(40, twice("anyOf")), "x", &json!({"$id": "x", "$defs": {}})), true),
            ("rest", chain(8, |next| json!({"anyOf": [next, next], "unevaluatedProperties": false})), false),
            ("much rest", chain(14, |next| json!({"anyOf": [next, next], "unevaluatedProperties": false})), true),
        ] {
            let counted = comparisons(&schema, Draft::Draft202012);
            assert_eq!(counted.is_err(), is_refused, "{what}: {counted:?}");
            assert_eq!(Validator::compile(schema).is_err(), is_refused, "{what}");
        }
        let long = chain(5_000, |next| json!({"allOf": [next]}));
        assert_eq!(
            comparisons(&long, Draft::Draft202012),
            Err("more than 1,000 of its schemas are inside one another")
        );
    }

    fn with(mut schema: Value, keyword: &str, value: &Value) -> Value {
        schema[keyword] = value.clone();
        schema
    }

    /// The same with references that name the document.
    fn identified(schema: Value, name: &str) -> Value {
        let text = with(schema, "$id", &json!(name)).to_string();
        serde_json::from_str(&text.replace("\"#/", &format!("\"{name}#/"))).unwrap()
    }
}
