//! A value of JSON, and the value that comes back from its message.
//!
//! Protobuf does not send empty lists, empty maps and null, and some messages hold numbers as doubles. Where a message
//! does not say everything, the JSON itself travels with it, and counts if it agrees with the message.

use protomcp_types::RawJson;
use serde_json::{Map, Number, Value};

use crate::struct_schemas::QUICK;

/// The relation of a value to the value that its message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agreement {
    /// They are the same.
    Exact,
    /// They differ in empty values and in the precision of numbers.
    Loose,
    /// They differ.
    None,
}

impl Agreement {
    /// Compares a value with the value of its message. Texts that are not JSON do not agree.
    pub(crate) fn of(original: &RawJson, said: &RawJson) -> Self {
        if original.bytes() == said.bytes() {
            return Self::Exact;
        }
        match (original.to::<Value>(), said.to::<Value>()) {
            (Ok(original), Ok(said)) => compare(&original, &said),
            _ => Self::None,
        }
    }
}

impl Agreement {
    /// Like [`Agreement::of`]; large values are compared on their own thread.
    pub(crate) async fn of_any_size(original: &RawJson, said: &RawJson) -> Self {
        if original.len() <= QUICK {
            return Self::of(original, said);
        }
        let (original, said) = (original.clone(), said.clone());
        tokio::task::spawn_blocking(move || Self::of(&original, &said)).await.unwrap_or(Self::None)
    }
}

/// True if a value may hold others that a message leaves out. Texts with these characters count as well.
pub(crate) fn may_have_gaps(json: &RawJson) -> bool {
    let text = json.as_str();
    let mut last = ' ';
    let closes = text.chars().filter(|char| !char.is_ascii_whitespace()).any(|char| {
        let before = std::mem::replace(&mut last, char);
        matches!((before, char), ('[', ']') | ('{', '}'))
    });
    closes || text.contains("null")
}

fn compare(original: &Value, said: &Value) -> Agreement {
    match (original, said) {
        (Value::Object(original), Value::Object(said)) => members(original, said),
        (Value::Array(original), Value::Array(said)) if original.len() == said.len() => {
            worst(original.iter().zip(said).map(|(one, other)| compare(one, other)))
        }
        (Value::Number(original), Value::Number(said)) => numbers(original, said),
        _ if original == said => Agreement::Exact,
        _ if is_empty(original) && is_empty(said) => Agreement::Loose,
        _ => Agreement::None,
    }
}

fn members(original: &Map<String, Value>, said: &Map<String, Value>) -> Agreement {
    let alone = |value: &Value| if is_empty(value) { Agreement::Loose } else { Agreement::None };
    let added = said.iter().filter(|(key, _)| !original.contains_key(*key)).map(|(_, value)| alone(value));
    let given = original.iter().map(|(key, value)| match said.get(key) {
        Some(other) => compare(value, other),
        None => alone(value),
    });
    worst(given.chain(added))
}

fn numbers(original: &Number, said: &Number) -> Agreement {
    match (original.as_i128(), said.as_i128()) {
        (Some(one), Some(other)) if one == other => Agreement::Exact,
        _ if original.as_f64() != said.as_f64() => Agreement::None,
        (None, None) => Agreement::Exact,
        // A whole number as a double: the same one up to 2^53.
        (Some(whole), None) | (None, Some(whole)) if whole.unsigned_abs() <= 1 << 53 => Agreement::Exact,
        _ => Agreement::Loose,
    }
}

fn worst(all: impl Iterator<Item = Agreement>) -> Agreement {
    all.max().unwrap_or(Agreement::Exact)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn empty_values_and_precision_are_loose() {
        use Agreement::{Exact, Loose, None};
        for (original, said, expected) in [
            (r#"{"a":[1,"x"],"b":true}"#, r#"{"b":true,"a":[1,"x"]}"#, Exact),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, Exact),
            (r#"{"a":[],"b":{},"c":null}"#, "{}", Loose),
            (r#"{"a":{"b":[]}}"#, r#"{"a":{}}"#, Loose),
            (r#"[{"a":null}]"#, "[{}]", Loose),
            (r#"{"a":null}"#, r#"{"a":[]}"#, Loose),
            ("{}", r#"{"a":[]}"#, Loose),
            ("9007199254740993", "9007199254740992.0", Loose),
            ("9007199254740993", "9007199254740992", Loose),
            (r#"{"a":[1]}"#, "{}", None),
            ("{}", r#"{"a":0}"#, None),
            (r#"{"a":""}"#, r#"{"a":null}"#, None),
            (r#"{"a":5}"#, r#"{"a":6}"#, None),
            ("[1]", "[1,1]", None),
            (r#""5""#, "5", None),
        ] {
            assert_eq!(Agreement::of(&json(original), &json(said)), expected, "{original} {said}");
        }
    }

    #[test]
    fn gaps_are_noticed() {
        for text in [
            r#"{"a":[ ]}"#,
            r#"{"a":{
        }}"#,
            r#"[1,null]"#,
        ] {
            assert!(may_have_gaps(&json(text)), "{text}");
        }
        assert!(!may_have_gaps(&json(r#"{"a":[1],"b":{"c":"d"}}"#)));
    }
}
