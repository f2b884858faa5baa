//! The kinds of values that a schema admits for a member of an object.

use std::ptr;

use serde_json::Value;

use crate::reference::local_fragment;

/// The parts of a schema that are looked at. A schema that has more admits everything.
const MAX_VISITS: usize = 10_000;
/// The depth of parts within parts. What is deeper admits everything.
const MAX_DEPTH: usize = 128;

/// False if no value of this kind can be the member `name` of an object that the schema describes: `type`, `enum`, `const`,
/// `allOf`, `anyOf`, `oneOf`, `not` and references within the schema decide. Keywords such as `pattern`, `minimum` and
/// `required`, other members, and parts beyond some ten thousand admit everything.
///
/// A command line whose words may be text or JSON asks for both.
///
/// ```
/// use protomcp_schema::admits_member;
/// use serde_json::json;
///
/// let schema = json!({"properties": {"zip": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
/// assert!(admits_member(&schema, "zip", &json!("12345")));
/// assert!(!admits_member(&schema, "zip", &json!(12345)));
/// ```
#[must_use]
pub fn admits_member(schema: &Value, name: &str, value: &Value) -> bool {
    let place = Place { root: schema, member: Some(name) };
    Admission { value, visits: MAX_VISITS, above: Vec::new() }.admits(schema, place)
}

/// The value that a part of the schema is about: a member of the object, or that member itself.
#[derive(Clone, Copy)]
struct Place<'a> {
    root: &'a Value,
    member: Option<&'a str>,
}

struct Admission<'a> {
    value: &'a Value,
    visits: usize,
    /// The parts around the one that is looked at, and if they are about the object.
    above: Vec<(&'a Value, bool)>,
}

impl<'a> Admission<'a> {
    fn admits(&mut self, schema: &'a Value, place: Place<'a>) -> bool {
        if self.visits == 0 || self.above.len() >= MAX_DEPTH {
            return true;
        }
        self.visits -= 1;
        let is_object = place.member.is_some();
        // A part that refers to itself adds nothing to its other choices.
        if self.above.iter().any(|above| ptr::eq(above.0, schema) && above.1 == is_object) {
            return false;
        }
        self.above.push((schema, is_object));
        let admits = self.own(schema, place) && self.joined(schema, place);
        self.above.pop();
        admits
    }

    /// The keywords about the value itself, or about the members of the object.
    fn own(&mut self, schema: &'a Value, place: Place<'a>) -> bool {
        if let Some(name) = place.member {
            let named = schema["properties"].get(name);
            let other = schema.get("additionalProperties").filter(|_| schema.get("patternProperties").is_none());
            let inner = Place { member: None, ..place };
            return schema != &Value::Bool(false) && named.or(other).is_none_or(|part| self.admits(part, inner));
        }
        match schema {
            Value::Bool(admits) => *admits,
            schema => {
                schema.get("type").is_none_or(|kinds| has_kind(self.value, kinds))
                    && schema.get("const").is_none_or(|one| is_same(one, self.value))
                    && schema["enum"].as_array().is_none_or(|all| all.iter().any(|one| is_same(one, self.value)))
            }
        }
    }

    /// The keywords that join parts about the same value.
    fn joined(&mut self, schema: &'a Value, place: Place<'a>) -> bool {
        if let Some(part) = schema["$ref"].as_str().and_then(|reference| target(place.root, reference))
            && !self.admits(part, place)
        {
            return false;
        }
        if place.member.is_none()
            && let Some(not) = schema.get("not").filter(|not| is_decided(not))
            && self.admits(not, place)
        {
            return false;
        }
        let all = schema["allOf"].as_array();
        let admits_all = all.is_none_or(|parts| parts.iter().all(|part| self.admits(part, place)));
        admits_all
            && ["anyOf", "oneOf"].iter().all(|keyword| {
                schema[*keyword].as_array().is_none_or(|parts| parts.iter().any(|part| self.admits(part, place)))
            })
    }
}

/// The part that a reference within the schema names.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&local_fragment(reference)?)
}

/// True if a part has only keywords that decide here.
fn is_decided(schema: &Value) -> bool {
    let decides = |keyword: &String| ["type", "enum", "const"].contains(&keyword.as_str());
    schema.as_object().is_some_and(|part| part.keys().all(decides))
}

/// True if `kinds`, the value of `type`, names the kind of a value.
fn has_kind(value: &Value, kinds: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    match kinds {
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}

/// Equal in the sense of JSON Schema: 1 and 1.0 are the same number.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && other.is_number() && one.as_f64() == other.as_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_is_admitted_by_the_kinds_of_its_schema() {
        let text = json!({"type": "string"});
        for (schema, admitted, refused) in [
            (json!({}), vec![json!(1), json!("1")], vec![]),
            (json!(true), vec![json!(1)], vec![]),
            (json!(false), vec![], vec![json!(1), json!("1")]),
            (text.clone(), vec![json!("1")], vec![json!(1), json!(null), json!({}), json!([1])]),
            (json!({"type": ["string", "integer"]}), vec![json!("1"), json!(1), json!(1.0)], vec![json!(1.5)]),
            (json!({"anyOf": [text, {"type": "null"}]}), vec![json!("1"), json!(null)], vec![json!(1)]),
            (json!({"oneOf": [{"type": "null"}, text]}), vec![json!("1"), json!(null)], vec![json!(true)]),
            (json!({"allOf": [text, {"minLength": 2}]}), vec![json!("1")], vec![json!(1)]),
            (json!({"enum": ["1", 2]}), vec![json!("1"), json!(2), json!(2.0)], vec![json!(1), json!("2")]),
            (json!({"const": "1"}), vec![json!("1")], vec![json!(1)]),
            (json!({"not": {"type": "number"}}), vec![json!("1")], vec![json!(1)]),
            // The rest of the keywords says nothing about kinds.
            (json!({"not": {"type": "number", "minimum": 5}}), vec![json!("1"), json!(1)], vec![]),
            (json!({"type": "string", "pattern": "^a"}), vec![json!("1")], vec![json!(1)]),
            (json!({"type": "object", "required": ["x"]}), vec![json!({})], vec![json!("{}")]),
            // References, with percent-encoding and escapes, to themselves and to nothing.
            (json!({"$ref": "#/$defs/a%7E1b"}), vec![json!("7")], vec![json!(7)]),
            (json!({"$ref": "#/$defs/loop"}), vec![json!("7")], vec![json!(7)]),
            (json!({"$ref": "#/$defs/none"}), vec![json!("7"), json!(7)], vec![]),
            (json!({"$ref": "https://a.example/b"}), vec![json!("7"), json!(7)], vec![]),
        ] {
            let defs = json!({"a/b": text, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, text]}});
            let all = json!({"properties": {"a": schema}, "required": ["b"], "$defs": defs});
            for (values, expected) in [(&admitted, true), (&refused, false)] {
                for value in values {
                    assert_eq!(admits_member(&all, "a", value), expected, "{schema} {value}");
                }
            }
        }
    }

    #[test]
    fn a_member_is_found_wherever_it_is_described() {
        let text = json!({"type": "string"});
        for schema in [
            json!({"allOf": [{"properties": {"a": text}}]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": text}}}}),
            json!({"additionalProperties": text}),
            json!({"anyOf": [{"properties": {"a": text}}, {"properties": {"a": {"type": "null"}}}]}),
        ] {
            assert!(admits_member(&schema, "a", &json!("1")) && !admits_member(&schema, "a", &json!(1)), "{schema}");
        }
        let own = json!({"$ref": "#"});
        for (part, admits_text) in [(own.clone(), false), (json!({"anyOf": [text, own]}), true)] {
            let schema = json!({"type": "object", "properties": {"a": part}});
            assert!(admits_member(&schema, "a", &json!({})) && !admits_member(&schema, "a", &json!(1)), "{schema}");
            assert_eq!(admits_member(&schema, "a", &json!("x")), admits_text, "{schema}");
        }
        let patterns = json!({"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": text});
        assert!(admits_member(&patterns, "a", &json!(1)));
    }

    #[test]
    fn schemas_that_multiply_take_bounded_work() {
        let level = |n: usize| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/{}", n + 1)}); 10]});
        let mut defs: serde_json::Map<_, _> = (0..20).map(|n| (n.to_string(), level(n))).collect();
        defs.insert("20".into(), json!({"type": "string"}));
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": defs});
        assert!(admits_member(&schema, "a", &json!(1)));
        let chain: serde_json::Map<_, _> =
            (0..5000).map(|n| (n.to_string(), json!({"$ref": format!("#/$defs/{}", n + 1)}))).collect();
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": chain});
        assert!(admits_member(&schema, "a", &json!(1)));
    }
}
