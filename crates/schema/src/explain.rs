//! The faults of a value that does not match its schema, in words that a model can act on.

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use serde_json::Value;

use crate::mismatch::Mismatch;
use crate::nearest::{did_you_mean, nearest};
use crate::validator::Quote;

/// The faults that are described; the rest is counted.
const MAX_FAULTS: usize = 8;
/// The faults that are counted. A value can have a million.
const MAX_COUNTED: usize = 10_000;
/// The longest description, in bytes: a part of it comes from the peer.
const MAX_FAULT: usize = 300;
/// The names that are compared with a wrong one. The names in a value come from the peer.
const MAX_NAMES: usize = 256;
/// The names in a description.
const MAX_LISTED: usize = 32;

/// Describes the faults of a value that is not valid.
pub(crate) fn explain(validator: &jsonschema::Validator, schema: &Value, value: &Value, quote: Quote) -> Mismatch {
    let explainer = Explainer { schema, value, quote };
    let mut mismatch = Mismatch { faults: Vec::new(), more: 0 };
    for error in validator.iter_errors(value).take(MAX_COUNTED) {
        explainer.describe(&error, &mut mismatch);
    }
    mismatch
}

struct Explainer<'a> {
    schema: &'a Value,
    value: &'a Value,
    quote: Quote,
}

impl Explainer<'_> {
    fn describe(&self, error: &ValidationError<'_>, mismatch: &mut Mismatch) {
        if mismatch.faults.len() >= MAX_FAULTS {
            mismatch.more += 1;
            return;
        }
        let path = error.instance_path().as_str();
        let place = if path.is_empty() { String::new() } else { format!("at {path}: ") };
        let mut push = |text: String| mismatch.faults.push(shorten(format!("{place}{text}")));
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                self.describe_unknown(error, &place, unexpected, mismatch);
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                push(format!("{name:?} is missing{}{}", self.described(error, name), self.misspelt(error, name)));
            }
            ValidationErrorKind::Type { kind } => {
                let expected = match kind {
                    TypeKind::Single(kind) => kind.to_string(),
                    TypeKind::Multiple(kinds) => {
                        kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
                    }
                };
                push(format!("expected {expected}{}", self.got(error.instance())));
            }
            ValidationErrorKind::Enum { options } => {
                let options = || options.as_array().into_iter().flatten();
                let choices: Vec<String> = options().take(MAX_LISTED).map(Value::to_string).collect();
                let texts = options().take(MAX_NAMES).filter_map(Value::as_str);
                let hint = error.instance().as_str().map(|wrong| did_you_mean(wrong, texts)).unwrap_or_default();
                push(format!("expected one of {}{}{hint}", choices.join(", "), self.got(error.instance())));
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                self.describe_choice(error, &place, context, mismatch);
            }
            // An object that allows no members: the path is that of the object.
            ValidationErrorKind::FalseSchema
                if error.schema_path().as_str().ends_with("/additionalProperties")
                    && self.value.pointer(path).is_some_and(Value::is_object) =>
            {
                let members = self.value.pointer(path).and_then(Value::as_object).into_iter().flatten();
                let unknown: Vec<String> = members.map(|(name, _)| name.clone()).collect();
                self.describe_unknown(error, &place, &unknown, mismatch);
            }
            ValidationErrorKind::Pattern { pattern } => {
                push(format!("expected text that matches {pattern}{}", self.got(error.instance())));
            }
            _ => push(match self.quote {
                Quote::Values => error.to_string(),
                Quote::Nothing => error.masked().to_string(),
            }),
        }
    }

    /// Describes a value that fits none of several schemas: by the faults of the one that it resembles most, or by the
    /// values that are expected.
    fn describe_choice(
        &self,
        error: &ValidationError<'_>,
        place: &str,
        choices: &[Vec<ValidationError<'_>>],
        mismatch: &mut Mismatch,
    ) {
        let path = error.instance_path().as_str();
        let expected: Option<Vec<String>> = choices.iter().map(|faults| expected(faults, path)).collect();
        if let Some(mut expected) = expected {
            expected.dedup();
            let text = format!("{place}expected {}{}", expected.join(" or "), self.got(error.instance()));
            mismatch.faults.push(shorten(text));
            return;
        }
        let near =
            choices.iter().filter(|faults| self::expected(faults, path).is_none()).min_by_key(|faults| faults.len());
        for fault in near.into_iter().flatten() {
            self.describe(fault, mismatch);
        }
    }

    fn describe_unknown(&self, error: &ValidationError<'_>, place: &str, unknown: &[String], mismatch: &mut Mismatch) {
        let known = self.properties(error);
        let room = MAX_FAULTS - mismatch.faults.len();
        for name in unknown.iter().take(room) {
            let hint = match did_you_mean(name, known.iter().copied().take(MAX_NAMES)) {
                _ if known.is_empty() => "; there are none".to_owned(),
                hint if hint.is_empty() => format!("; expected {}", list(&known)),
                hint => hint,
            };
            mismatch.faults.push(shorten(format!("{place}unknown argument {name:?}{hint}")));
        }
        mismatch.more += unknown.len().saturating_sub(room);
    }

    /// `, got …`, unless values are not to be repeated.
    fn got(&self, value: &Value) -> String {
        match self.quote {
            Quote::Values => format!(", got {}", quote(value)),
            Quote::Nothing => String::new(),
        }
    }

    /// The properties of the object in which one is unknown.
    fn properties(&self, error: &ValidationError<'_>) -> Vec<&str> {
        let properties = self.parent(error).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    /// The type and the description of a property, if its schema has them.
    fn described(&self, error: &ValidationError<'_>, name: &str) -> String {
        let property = self.parent(error).and_then(|schema| schema.get("properties")?.get(name));
        let Some(property) = property else { return String::new() };
        match (property.get("type").and_then(Value::as_str), property.get("description").and_then(Value::as_str)) {
            (Some(kind), Some(text)) => format!(" ({kind}: {text})"),
            (Some(text), None) | (None, Some(text)) => format!(" ({text})"),
            (None, None) => String::new(),
        }
    }

    /// The member that is probably the missing one under a wrong name. Where unknown members are faults of their own, the
    /// description of that fault says so.
    fn misspelt(&self, error: &ValidationError<'_>, name: &str) -> String {
        let Some(parent) = self.parent(error) else { return String::new() };
        if parent.get("additionalProperties") == Some(&Value::Bool(false)) {
            return String::new();
        }
        let known = self.properties(error);
        let members = error.instance().as_object().into_iter().flatten().map(|(member, _)| member.as_str());
        let unknown = members.filter(|member| !known.contains(member)).take(MAX_NAMES);
        nearest(name, unknown).map(|near| format!("; is {near:?} a misspelling of it?")).unwrap_or_default()
    }

    /// The schema with the keyword that is violated.
    fn parent(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let keyword = error.schema_path().as_str();
        self.schema.pointer(&keyword[..keyword.rfind('/')?])
    }
}

/// The values that a schema expects, if the one at this path has another type or is not among its choices.
fn expected(faults: &[ValidationError<'_>], path: &str) -> Option<String> {
    let fault = faults.first().filter(|fault| fault.instance_path().as_str() == path)?;
    match fault.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => Some(kind.to_string()),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            Some(kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or "))
        }
        ValidationErrorKind::Constant { expected_value } => Some(expected_value.to_string()),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().take(MAX_LISTED);
            Some(options.map(Value::to_string).collect::<Vec<_>>().join(" or "))
        }
        _ => None,
    }
}

/// A short value as it is, and the kind of a long one.
fn quote(value: &Value) -> String {
    const SHORT: usize = 60;
    let text = value.to_string();
    if text.len() <= SHORT {
        return text;
    }
    match value {
        Value::String(_) => format!("a string of {} bytes", text.len() - 2),
        Value::Array(elements) => format!("an array of {} elements", elements.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => text,
    }
}

fn list(names: &[&str]) -> String {
    names.iter().take(MAX_LISTED).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn shorten(mut text: String) -> String {
    if text.len() > MAX_FAULT {
        text.truncate(text.floor_char_boundary(MAX_FAULT));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
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
