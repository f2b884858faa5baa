//! Comparison of an answer with the recorded one.

use std::fmt;

use serde_json::{Map, Value};

use crate::redacted::REDACTED;

/// The exactness of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comparison {
    /// Results stay results, errors stay errors with their codes, and all members are still there with their types.
    #[default]
    Shape,
    /// Everything is equal, but for secrets that were redacted.
    Strict,
}

/// One difference between a trace and what a server does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line of the trace that has the expected message.
    pub line: usize,
    /// The request, such as `tools/call add`, or the notification.
    pub title: String,
    /// The difference in words.
    pub what: String,
}

/// The most differences of one message.
const MAX_DIFFERENCES: usize = 10;
/// The longest value in a difference, in characters.
const MAX_SHOWN: usize = 200;

impl Comparison {
    /// The differences between two messages, each with the JSON pointer of its place.
    pub(crate) fn differences(self, expected: &Value, found: &Value) -> Vec<String> {
        let mut all = Vec::new();
        self.compare("", expected, found, &mut all);
        all
    }

    fn compare(self, pointer: &str, expected: &Value, found: &Value, all: &mut Vec<String>) {
        if all.len() >= MAX_DIFFERENCES || expected == REDACTED {
            return;
        }
        let shown = if pointer.is_empty() { "the message" } else { pointer };
        match (expected, found) {
            (Value::Object(members), Value::Object(now)) => {
                // A result without the flag is not an error (MCP 2025-11-25, tools).
                let is_result = self == Self::Shape && pointer == "/result";
                if is_result && is_error(members) != is_error(now) {
                    all.push(format!("/result/isError is {}, and was {}", is_error(now), is_error(members)));
                }
                // Today the name of such a member is another one.
                let (open, plain): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| name.contains(REDACTED));
                for (name, value) in plain.into_iter().filter(|(name, _)| !(is_result && *name == "isError")) {
                    let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                    match now.get(name) {
                        Some(found) => self.compare(&pointer, value, found, all),
                        None => all.push(format!("{pointer} is missing; it was {}", short(value))),
                    }
                }
                if self == Self::Strict && open.is_empty() {
                    let new = now.iter().filter(|(name, _)| !members.contains_key(*name));
                    all.extend(new.map(|(name, value)| format!("{pointer}/{name} is new: {}", short(value))));
                }
            }
            (Value::Array(values), Value::Array(now)) if self == Self::Strict => {
                for (index, (value, found)) in values.iter().zip(now).enumerate() {
                    self.compare(&format!("{pointer}/{index}"), value, found, all);
                }
                if values.len() != now.len() {
                    all.push(format!("{shown} has {} elements, and had {}", now.len(), values.len()));
                }
            }
            // The text of a redacted secret may be longer or shorter.
            (Value::String(text), Value::String(now)) if self == Self::Strict => {
                if !fits(text, now) {
                    all.push(format!("{shown} is {}, and was {}", short(found), short(expected)));
                }
            }
            // A code or a flag is a part of the shape; the words and the numbers of a result are not.
            (Value::Bool(_), Value::Bool(_)) => {
                if expected != found {
                    all.push(format!("{shown} is {}, and was {}", short(found), short(expected)));
                }
            }
            _ if self == Self::Shape && kind(expected) == kind(found) => {
                if pointer == "/error/code" && expected != found {
                    all.push(format!("{shown} is {}, and was {}", short(found), short(expected)));
                }
            }
            _ => {
                if expected != found {
                    all.push(format!("{shown} is {}, and was {}", short(found), short(expected)));
                }
            }
        }
    }
}

fn is_error(result: &Map<String, Value>) -> bool {
    result.get("isError") == Some(&Value::Bool(true))
}

/// True if a text with redacted parts may have been this one.
fn fits(text: &str, now: &str) -> bool {
    let mut parts = text.split(REDACTED);
    let Some(mut rest) = parts.next().and_then(|first| now.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.find(before) {
                Some(at) => rest = &rest[at + before.len()..],
                None => return false,
            }
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// The beginning of a value.
pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, {}: {}", self.line, self.title, self.what)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_compared_by_shape_or_strictly() {
        let text = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}], "isError": false}});
        let failed = json!({"error": {"code": -32602, "message": "no"}});
        let rows = [
            (text("5"), text("5"), 0, 0),
            (text("5"), text("6"), 0, 1),
            (text("the key is [redacted]!"), text("the key is new!"), 0, 0),
            (text("the key is [redacted]!"), text("a key"), 0, 1),
            (json!({"a": REDACTED}), json!({"a": [1]}), 0, 0),
            (json!({"a": 1, "of [redacted]": 2}), json!({"a": 1, "of ann": 3}), 0, 0),
            (json!({"a": 1}), json!({"a": 2, "b": 1}), 0, 2),
            (json!({"a": 1}), json!({"a": "1"}), 1, 1),
            (json!({"a": 1}), json!({}), 1, 1),
            (json!({"a": [1, 2]}), json!({"a": [1]}), 0, 1),
            (json!({"isError": false}), json!({"isError": true}), 1, 1),
            (failed.clone(), json!({"error": {"code": -32603, "message": "no"}}), 1, 1),
            (failed.clone(), json!({"error": {"code": -32602, "message": "other"}}), 0, 1),
            (text("5"), failed, 1, 2),
            (json!({"result": {}}), json!({"result": {"isError": true}}), 1, 1),
            (json!({"result": {"isError": true}}), json!({"result": {}}), 1, 1),
            (json!({"result": {"isError": false}}), json!({"result": {}}), 0, 1),
        ];
        for (expected, found, shape, strict) in rows {
            let count = |comparison: Comparison| comparison.differences(&expected, &found).len();
            assert_eq!((count(Comparison::Shape), count(Comparison::Strict)), (shape, strict), "{expected} {found}");
        }
    }

    #[test]
    fn a_difference_names_its_place() {
        let differences = Comparison::Strict.differences(&json!({"a/b": [{"x": 1}]}), &json!({"a/b": [{"x": 2}]}));
        assert_eq!(differences, ["/a~1b/0/x is 2, and was 1"]);
        let long = json!("x".repeat(500));
        assert!(Comparison::Strict.differences(&long, &json!(1))[0].len() < 300);
    }
}
