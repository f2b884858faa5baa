//! The size of a JSON value as text, for bounds.

use serde_json::Value;

/// The bytes of a value as text, about.
pub(crate) fn text_size(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.iter().map(|(key, value)| key.len() + text_size(value) + 4).sum(),
        Value::Array(items) => items.iter().map(|item| text_size(item) + 1).sum(),
        Value::String(text) => text.len() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}
