//! The words for a single fault.

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use serde_json::Value;

use crate::nearest::{did_you_mean, nearest};
use crate::quote::Quote;
use crate::text::{Beginning, begin, shorten};
use crate::walk::path::Path;

/// The names that are compared with a wrong one. The names in a value come from the peer.
const MAX_NAMES: usize = 256;
/// The names in a description.
const MAX_LISTED: usize = 32;
/// The shortest name that can be a misspelling of another one.
const SHORTEST: usize = 3;

/// Describes faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Describer {
    pub(crate) quote: Quote,
}

impl Describer {
    /// Describes a violated keyword of a schema, in a line for each unknown member and one for anything else, but no
    /// more than `most`.
    pub(crate) fn describe(
        &self,
        schema: &Value,
        value: &Value,
        error: &ValidationError<'_>,
        most: usize,
    ) -> Vec<String> {
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => unknown(schema, unexpected, most),
            // An object that allows no members: the path is the path of the object.
            ValidationErrorKind::FalseSchema if schema.is_object() && value.is_object() => {
                let members = value.as_object().into_iter().flatten().take(most);
                let members: Vec<String> = members.map(|(name, _)| name.clone()).collect();
                unknown(schema, &members, most)
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                // The member that requires this one is not meant as it.
                let is_dependent = !error.schema_path().as_str().starts_with("/required");
                let hint = if is_dependent { String::new() } else { misspelt(schema, value, name) };
                vec![format!("{:?} is missing{}{hint}", begin(name), described(schema, name))]
            }
            ValidationErrorKind::Enum { options } => {
                let options = || options.as_array().into_iter().flatten();
                let choices: Vec<String> = options().take(MAX_LISTED).map(begin).collect();
                let texts = options().take(MAX_NAMES).filter_map(Value::as_str);
                let hint = value.as_str().map(|wrong| did_you_mean(wrong, texts)).unwrap_or_default();
                vec![format!("expected one of {}{}{hint}", choices.join(", "), self.got(value))]
            }
            ValidationErrorKind::Pattern { pattern } => {
                vec![format!("expected text that matches {pattern}{}", self.got(value))]
            }
            ValidationErrorKind::Contains => vec![format!("expected {}{}", elements(schema), self.got(value))],
            _ => match (expected(error), self.quote) {
                (Some(expected), _) => vec![format!("expected {expected}{}", self.got(value))],
                (None, Quote::Values) => vec![begin(error)],
                (None, Quote::Nothing) => vec![begin(&error.masked())],
            },
        }
    }

    /// Describes a value that fits none of several schemas that expect others.
    pub(crate) fn values(&self, value: &Value, expected: &[String]) -> String {
        format!("expected {}{}", expected.join(" or "), self.got(value))
    }

    /// Describes a value that fits a schema that it must not fit.
    pub(crate) fn forbidden(&self, value: &Value, schema: &Value) -> String {
        format!("must not match {}{}", begin(schema), self.got(value))
    }

    /// Describes a value that fits more than one schema of several of which it must fit one.
    pub(crate) fn ambiguous(&self, value: &Value) -> String {
        format!("matches more than one of the allowed forms{}", self.got(value))
    }

    /// `, got …`, unless values are not to be repeated.
    fn got(&self, value: &Value) -> String {
        match self.quote {
            Quote::Values => format!(", got {}", quote(value)),
            Quote::Nothing => String::new(),
        }
    }
}

/// A description with its place.
pub(crate) fn placed(path: &Path<'_>, text: &str) -> String {
    shorten(if path.is_root() { text.to_owned() } else { format!("at {}: {text}", path.describe()) })
}

/// The values that a schema expects, if the error says nothing else.
pub(crate) fn expected(error: &ValidationError<'_>) -> Option<String> {
    match error.kind() {
        ValidationErrorKind::Type { kind } => Some(types(kind)),
        ValidationErrorKind::Constant { expected_value } => Some(begin(expected_value)),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().take(MAX_LISTED);
            Some(options.map(begin).collect::<Vec<_>>().join(" or "))
        }
        _ => None,
    }
}

fn unknown(schema: &Value, names: &[String], most: usize) -> Vec<String> {
    let known = properties(schema);
    let line = |name: &String| {
        let hint = match did_you_mean(name, known.iter().copied().take(MAX_NAMES)) {
            _ if known.is_empty() => "; there are none".to_owned(),
            hint if hint.is_empty() => format!("; expected {}", list(&known)),
            hint => hint,
        };
        format!("unknown argument {:?}{hint}", begin(name))
    };
    names.iter().take(most).map(line).collect()
}

/// The elements that `contains` asks for.
fn elements(schema: &Value) -> String {
    let least = schema.get("minContains").map_or_else(|| "1".to_owned(), Value::to_string);
    let most = schema.get("maxContains").map(|most| format!(" and at most {most}")).unwrap_or_default();
    let matching = schema.get("contains").map(begin).unwrap_or_default();
    format!("at least {least}{most} elements that match {matching}")
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

/// The properties of an object.
fn properties(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The type and the description of a property, if its schema has them.
fn described(schema: &Value, name: &str) -> String {
    let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) else {
        return String::new();
    };
    match (property.get("type").and_then(Value::as_str), property.get("description").and_then(Value::as_str)) {
        (Some(kind), Some(text)) => format!(" ({kind}: {text})"),
        (Some(text), None) | (None, Some(text)) => format!(" ({text})"),
        (None, None) => String::new(),
    }
}

/// The member that is probably the missing one under a wrong name. Where unknown members are separate faults, the
/// description of that fault says so.
fn misspelt(schema: &Value, value: &Value, name: &str) -> String {
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) || name.len() < SHORTEST {
        return String::new();
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let members = value.as_object().into_iter().flatten().map(|(member, _)| member.as_str());
    let unknown = members.filter(|member| !known.is_some_and(|known| known.contains_key(*member))).take(MAX_NAMES);
    nearest(name, unknown).map(|near| format!("; is {:?} a misspelling of it?", begin(near))).unwrap_or_default()
}

/// A short value as it is, and the kind of a long one.
fn quote(value: &Value) -> String {
    const SHORT: usize = 60;
    let mut text = Beginning::new(SHORT);
    if write!(text, "{value}").is_ok() {
        return text.into();
    }
    match value {
        Value::String(text) => format!("a string of {} bytes", text.len()),
        Value::Array(elements) => format!("an array of {} elements", elements.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn list(names: &[&str]) -> String {
    names.iter().take(MAX_LISTED).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
