//! Whether a value fits a schema, and if not, a message that a model can act on.

use std::fmt::Write as _;
use std::sync::Arc;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use serde_json::Value;

use crate::schema::nearest::hint;

/// A compiled schema. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    validator: Arc<Validator>,
    schema: Arc<Value>,
}

/// How many complaints one message holds; the rest is counted.
const MAX_COMPLAINTS: usize = 8;

/// The longest complaint, in bytes: what it quotes comes from the peer.
const MAX_COMPLAINT: usize = 300;

impl Check {
    /// Compiles a schema. References to other documents are never fetched.
    ///
    /// # Errors
    /// When it is none, with the reason.
    pub(crate) fn compile(schema: Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(&schema).map_err(|error| shorten(error.to_string()))?;
        Ok(Self { validator: Arc::new(validator), schema: Arc::new(schema) })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What does not fit, one complaint on each line.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let mut complaints = Vec::new();
        let mut more = 0;
        for error in self.validator.iter_errors(value) {
            if complaints.len() < MAX_COMPLAINTS { self.complain(&error, &mut complaints) } else { more += 1 }
        }
        more += complaints.len().saturating_sub(MAX_COMPLAINTS);
        complaints.truncate(MAX_COMPLAINTS);
        let mut text = complaints.join("\n");
        if more > 0 {
            let _ = write!(text, "\n- and {more} more");
        }
        Err(text)
    }

    fn complain(&self, error: &ValidationError<'_>, complaints: &mut Vec<String>) {
        let path = error.instance_path().as_str();
        let place = if path.is_empty() { String::new() } else { format!("at {path}: ") };
        let mut say = |text: String| complaints.push(shorten(format!("- {place}{text}")));
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let names = self.properties(error);
                for name in unexpected {
                    let known = if names.is_empty() {
                        "; there are none".to_owned()
                    } else {
                        match hint(name, names.iter().map(String::as_str)) {
                            hint if hint.is_empty() => format!("; expected {}", list(&names)),
                            hint => hint,
                        }
                    };
                    say(format!("unknown argument {name:?}{known}"));
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                say(format!("{name:?} is missing{}", self.described(error, name)));
            }
            ValidationErrorKind::Type { kind } => {
                let expected = match kind {
                    TypeKind::Single(kind) => kind.to_string(),
                    TypeKind::Multiple(kinds) => {
                        kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
                    }
                };
                say(format!("expected {expected}, got {}", quote(error.instance())));
            }
            ValidationErrorKind::Enum { options } => {
                let choices: Vec<String> = options.as_array().into_iter().flatten().map(Value::to_string).collect();
                let texts = options.as_array().into_iter().flatten().filter_map(Value::as_str);
                let hint = error.instance().as_str().map(|wrong| hint(wrong, texts)).unwrap_or_default();
                say(format!("expected one of {}, got {}{hint}", choices.join(", "), quote(error.instance())));
            }
            ValidationErrorKind::Pattern { pattern } => {
                say(format!("expected text that matches {pattern}, got {}", quote(error.instance())));
            }
            _ => say(error.to_string()),
        }
    }

    /// The properties of the object in which one is unknown.
    fn properties(&self, error: &ValidationError<'_>) -> Vec<String> {
        let parent = self.parent(error).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        parent.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
    }

    /// What a property is, if its schema says so.
    fn described(&self, error: &ValidationError<'_>, name: &str) -> String {
        let property = self.parent(error).and_then(|schema| schema.get("properties")?.get(name));
        let Some(property) = property else { return String::new() };
        match (property.get("type").and_then(Value::as_str), property.get("description").and_then(Value::as_str)) {
            (Some(kind), Some(text)) => format!(" ({kind}: {text})"),
            (Some(text), None) | (None, Some(text)) => format!(" ({text})"),
            (None, None) => String::new(),
        }
    }

    /// The schema that holds the keyword that complains.
    fn parent(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let keyword = error.schema_path().as_str();
        self.schema.pointer(&keyword[..keyword.rfind('/')?])
    }
}

/// A value as the peer wrote it, if it is short, and what it is otherwise.
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

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

fn shorten(mut text: String) -> String {
    if text.len() > MAX_COMPLAINT {
        text.truncate(text.floor_char_boundary(MAX_COMPLAINT));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn complaints(schema: Value, value: &Value) -> String {
        Check::compile(schema).unwrap().check(value).err().unwrap_or_default()
    }

    #[test]
    fn a_complaint_names_the_place_the_expectation_and_the_nearest_name() {
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
            assert_eq!(complaints(schema(), &value), text, "{value}");
        }
    }

    #[test]
    fn a_message_is_short_however_much_is_wrong() {
        let schema = json!({"type": "array", "items": {"type": "string"}});
        let text = complaints(schema.clone(), &Value::from(vec![1; 1000]));
        assert_eq!(text.lines().count(), MAX_COMPLAINTS + 1);
        assert!(text.ends_with("\n- and 992 more"), "{text}");
        let text = complaints(json!({"type": "object", "additionalProperties": false}), &json!({"é".repeat(5000): 1}));
        assert!(text.len() < 2 * MAX_COMPLAINT, "{}", text.len());
        let text = complaints(json!({"type": "integer"}), &json!("x".repeat(5000)));
        assert_eq!(text, "- expected integer, got a string of 5000 bytes");
    }

    #[test]
    fn what_is_no_schema_or_lies_elsewhere_does_not_compile() {
        for schema in
            [json!({"type": "nonsense"}), json!({"$ref": "http://127.0.0.1:1/x.json"}), json!({"$ref": "#/$defs/none"})]
        {
            assert!(Check::compile(schema.clone()).is_err(), "{schema}");
        }
    }
}
