//! The faults of a value that does not match its schema, in words that a model can act on.

use jsonschema::Draft;
use serde_json::Value;

use crate::mismatch::Mismatch;
use crate::quote::Quote;
use crate::walk::{MAX_STEPS, Walk};

/// The faults that are described; the rest is counted.
const MAX_FAULTS: usize = 8;
/// The faults that are put into words. Some say the same.
const MAX_WORDED: usize = 64;

/// Describes the faults of a value that is not valid.
pub(crate) fn explain(schema: &Value, draft: Draft, value: &Value, quote: Quote) -> Mismatch {
    let mut walk = Walk::new(schema, draft, MAX_STEPS);
    let found = walk.faults(schema, value);
    let (mut faults, mut worded, mut left) = (Vec::new(), 0, MAX_WORDED);
    found.visit(&mut |fault| {
        for text in walk.describe(fault, quote, MAX_FAULTS - faults.len()) {
            worded += 1;
            if !faults.contains(&text) {
                faults.push(text);
            }
        }
        left -= 1;
        faults.len() < MAX_FAULTS && left > 0
    });
    if faults.is_empty() {
        return Mismatch::new("the value does not match its schema, in a way that cannot be said more precisely");
    }
    Mismatch { faults, more: found.count().saturating_sub(worded) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::MAX_FAULT;
    use crate::validator::Validator;

    fn faults(schema: Value, value: &Value) -> String {
        Validator::compile(schema)
            .unwrap()
            .check(value, Quote::Values)
            .map_or_else(|faults| faults.list(), |()| String::new())
    }

    #[test]
    fn a_fault_names_the_place_the_expectation_and_the_nearest_name() {
        let schema = || {
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "who it is"},
                    "mode": {"enum": ["fast", "slow"]},
                    "items": {"type": "array", "items": {"type": "object", "properties": {"status": {"type": ["integer", "null"]}}, "additionalProperties": false}},
                },
                "required": ["name"],
                "additionalProperties": false,
            })
        };
        for (value, text) in [
            (json!({"name": "a"}), ""),
            (json!({}), "- \"name\" is missing (string: who it is)"),
            (json!({"name": 5}), "- at /name: expected string, got 5"),
            (
                json!({"name": "a", "mode": "fats"}),
                "- at /mode: expected one of \"fast\", \"slow\", got \"fats\"; did you mean \"fast\"?",
            ),
            (json!({"name": "a", "Mode": "fast"}), "- unknown argument \"Mode\"; did you mean \"mode\"?"),
            (
                json!({"name": "a", "password": ""}),
                "- unknown argument \"password\"; expected \"name\", \"mode\", \"items\"",
            ),
            (
                json!({"name": "a", "items": [{"statu": 1}]}),
                "- at /items/0: unknown argument \"statu\"; did you mean \"status\"?",
            ),
            (
                json!({"name": "a", "items": [{"status": ""}]}),
                "- at /items/0/status: expected null or integer, got \"\"",
            ),
            (json!([]), "- expected object, got []"),
        ] {
            assert_eq!(faults(schema(), &value), text, "{value}");
        }
    }

    #[test]
    fn the_choice_that_a_value_resembles_is_described() {
        let pair = json!({"type": "object", "properties": {"kind": {"const": "pair"}, "left": {"type": "string"}}, "required": ["kind", "left"]});
        let one = json!({"type": "object", "properties": {"kind": {"const": "one"}}, "required": ["kind"], "additionalProperties": false});
        for keyword in ["anyOf", "oneOf"] {
            let schema = || json!({"properties": {"a": {keyword: [{"type": "integer"}, {"const": "x"}, {"enum": ["y", null]}, pair, one]}}});
            for (value, text) in [
                (json!({"a": 1}), ""),
                (json!({"a": 1.5}), r#"- at /a: expected integer or "x" or "y" or null or object, got 1.5"#),
                (json!({"a": {"kind": "pair", "left": 1}}), "- at /a/left: expected string, got 1"),
                (json!({"a": {"kind": "one", "b": 1}}), "- at /a: unknown argument \"b\"; expected \"kind\""),
            ] {
                assert_eq!(faults(schema(), &value), text, "{value}");
            }
        }
    }

    #[test]
    fn an_object_without_members_has_no_others() {
        for (schema, value, text) in [
            (
                json!({"type": "object", "additionalProperties": false}),
                json!({"a": 1}),
                "- unknown argument \"a\"; there are none",
            ),
            (
                json!({"properties": {"x": {"type": "object", "properties": {}, "additionalProperties": false}}}),
                json!({"x": {"b": 1}}),
                "- at /x: unknown argument \"b\"; there are none",
            ),
            (json!({"properties": {"x": false}}), json!({"x": 1}), "- at /x: False schema does not allow 1"),
        ] {
            assert_eq!(faults(schema, &value), text, "{value}");
        }
    }

    #[test]
    fn a_message_is_short_however_much_is_wrong() {
        let schema = json!({"type": "array", "items": {"type": "string"}});
        let text = faults(schema.clone(), &Value::from(vec![1; 1000]));
        assert_eq!(text.lines().count(), MAX_FAULTS + 1);
        assert!(text.ends_with("\n- and 992 more"), "{text}");
        let text = faults(json!({"type": "object", "additionalProperties": false}), &json!({"é".repeat(5000): 1}));
        assert!(text.len() < 2 * MAX_FAULT, "{}", text.len());
        let text = faults(json!({"type": "integer"}), &json!("x".repeat(5000)));
        assert_eq!(text, "- expected integer, got a string of 5000 bytes");
    }

    #[test]
    fn a_bad_schema_or_one_elsewhere_does_not_compile() {
        for schema in
            [json!({"type": "nonsense"}), json!({"$ref": "http://127.0.0.1:1/x.json"}), json!({"$ref": "#/$defs/none"})]
        {
            assert!(Validator::compile(schema.clone()).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_missing_name_may_be_there_misspelt() {
        let open = || json!({"required": ["city"], "properties": {"city": {}}});
        let closed = json!({"required": ["city"], "properties": {"city": {}}, "additionalProperties": false});
        for (schema, value, text) in [
            (open(), json!({"ctiy": 1}), r#"- "city" is missing; is "ctiy" a misspelling of it?"#),
            (open(), json!({"town": 1}), r#"- "city" is missing"#),
            (closed, json!({"ctiy": 1}), "- unknown argument \"ctiy\"; did you mean \"city\"?\n- \"city\" is missing"),
        ] {
            assert_eq!(faults(schema, &value), text, "{value}");
        }
    }

    #[test]
    fn values_are_repeated_only_where_they_may_be() {
        let schema = json!({"properties": {"a": {"type": "string"}, "b": {"minimum": 1}, "c": {"enum": ["x"]}}});
        let validator = Validator::compile(schema).unwrap();
        let mismatch = validator.check(&json!({"a": 4711, "b": -4711, "c": "4711"}), Quote::Nothing).unwrap_err();
        assert_eq!(
            mismatch.to_string(),
            "at /a: expected string; at /b: value is less than the minimum of 1; at /c: expected one of \"x\""
        );
    }
}
