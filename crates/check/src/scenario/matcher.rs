//! The comparison of a value with what is expected of it.

use protomcp_schema::{Quote, Validator};
use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::scenario::difference;

/// An expected value: the value itself, or an object with one of these members.
///
/// - `equals`: the value itself, where it could be taken for one of these members
/// - `contains`: a part of a text, an element of a list, or several of them; members of an object
/// - `matches`: a regular expression that a part of the text matches
/// - `pieces`: the texts of which a text consists in this order, with any text between two of them
/// - `schema`: a JSON Schema
/// - `exists`: true or false
/// - `not`: another expectation that must not hold
#[derive(Debug, Clone, PartialEq)]
pub enum Matcher {
    /// The value itself.
    Equals(Value),
    /// A part of the value.
    Contains(Value),
    /// A regular expression.
    Matches(String),
    /// The pieces of a text, between which there may be anything.
    Pieces(Vec<String>),
    /// A JSON Schema.
    Schema(Value),
    /// There is a value, or there is none.
    Exists(bool),
    /// The other expectation does not hold.
    Not(Box<Self>),
}

/// The longest value in a message, in characters.
const SHOWN: usize = 200;

impl Matcher {
    /// Compares a value; `None`: there is none.
    ///
    /// # Errors
    /// The difference, in words.
    pub fn check(&self, value: Option<&Value>) -> Result<(), String> {
        let Some(found) = value else {
            return match self {
                Self::Exists(false) | Self::Not(_) => Ok(()),
                _ => Err(format!("expected {}, got nothing", self.words())),
            };
        };
        let holds = match self {
            Self::Equals(expected) => is_equal(expected, found),
            Self::Contains(part) => contains(found, part),
            Self::Matches(pattern) => regex(pattern)?.is_match(&text(found)),
            Self::Pieces(pieces) => consists_of(&text(found), pieces),
            Self::Schema(schema) => {
                let validator = Validator::compile(schema.clone()).map_err(|why| format!("invalid schema: {why}"))?;
                return validator
                    .check(found, Quote::Values)
                    .map_err(|why| format!("does not match the schema: {why}"));
            }
            Self::Exists(exists) => *exists,
            Self::Not(other) => other.check(value).is_err(),
        };
        if holds { Ok(()) } else { Err(self.difference(found)) }
    }

    fn difference(&self, found: &Value) -> String {
        let are_long = |one: &Value| one.to_string().len() > SHOWN || found.to_string().len() > SHOWN;
        match (self, found) {
            (Self::Equals(Value::String(text)), Value::String(now)) => difference::of_texts(text, now),
            (Self::Equals(one @ Value::Object(_)), Value::Object(_))
            | (Self::Equals(one @ Value::Array(_)), Value::Array(_))
                if are_long(one) =>
            {
                Some(difference::of_values(one, found))
            }
            _ => None,
        }
        .unwrap_or_else(|| format!("expected {}, got {}", self.words(), shown(found)))
    }

    /// Checks patterns and schemas.
    pub(super) fn is_valid(&self) -> Result<(), String> {
        match self {
            Self::Matches(pattern) => regex(pattern).map(drop),
            Self::Schema(schema) => {
                Validator::compile(schema.clone()).map(drop).map_err(|why| format!("invalid schema: {why}"))
            }
            Self::Not(other) => other.is_valid(),
            Self::Equals(_) | Self::Contains(_) | Self::Pieces(_) | Self::Exists(_) => Ok(()),
        }
    }

    /// The matcher with the values of an object changed, its variables filled in for example.
    pub(super) fn map(&self, change: &impl Fn(&Value) -> Result<Value, String>) -> Result<Self, String> {
        Ok(match self {
            Self::Equals(value) => Self::Equals(change(value)?),
            Self::Contains(value) => Self::Contains(change(value)?),
            Self::Matches(pattern) => Self::Matches(text(&change(&Value::String(pattern.clone()))?)),
            Self::Pieces(pieces) => {
                let filled = |piece: &String| change(&Value::String(piece.clone())).map(|piece| text(&piece));
                Self::Pieces(pieces.iter().map(filled).collect::<Result<_, _>>()?)
            }
            Self::Schema(_) | Self::Exists(_) => self.clone(),
            Self::Not(other) => Self::Not(Box::new(other.map(change)?)),
        })
    }

    fn words(&self) -> String {
        match self {
            Self::Equals(value) => shown(value),
            Self::Contains(value) => format!("something that contains {}", shown(value)),
            Self::Matches(pattern) => format!("a match of {pattern}"),
            Self::Pieces(pieces) => format!("a text of the pieces {}", shown(&pieces.clone().into())),
            Self::Schema(_) => "a match of the schema".into(),
            Self::Exists(true) => "a value".into(),
            Self::Exists(false) => "nothing".into(),
            Self::Not(other) => format!("other than {}", other.words()),
        }
    }
}

fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => difference::is_same(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_equal(one, other)))
        }
        _ => one == other,
    }
}

fn contains(found: &Value, part: &Value) -> bool {
    match (found, part) {
        (Value::String(found), Value::String(part)) => found.contains(part.as_str()),
        (Value::String(_), Value::Array(parts)) => parts.iter().all(|part| contains(found, part)),
        (Value::Array(found), Value::Array(parts)) => {
            parts.iter().all(|part| found.iter().any(|found| is_equal(found, part) || is_part(found, part)))
        }
        (Value::Array(all), part) => all.iter().any(|found| is_equal(found, part) || is_part(found, part)),
        _ => is_part(found, part),
    }
}

/// Members of an object, with the same or with contained values.
fn is_part(found: &Value, part: &Value) -> bool {
    match (found, part) {
        (Value::Object(found), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| found.get(name).is_some_and(|found| is_equal(found, part) || is_part(found, part))),
        _ => false,
    }
}

/// True if a text begins with the first piece, ends with the last one, and has the others in between, in order. It takes a
/// time in proportion to the text.
fn consists_of(text: &str, pieces: &[String]) -> bool {
    let (Some((first, others)), Some(last)) = (pieces.split_first(), pieces.last()) else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    let Some((_, between)) = others.split_last() else { return rest.is_empty() };
    for piece in between {
        match rest.find(piece.as_str()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

/// A value as a text; one that is not a text is its JSON.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        let error = shown(&Value::String(error.to_string()));
        format!("invalid pattern {}: {}", shown(&Value::String(pattern.to_owned())), error.trim_matches('"'))
    })
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::read(value).map_err(serde::de::Error::custom)
    }
}

impl Matcher {
    fn read(value: Value) -> Result<Self, String> {
        let Value::Object(members) = &value else { return Ok(Self::Equals(value)) };
        let mut all = members.iter();
        let (Some((name, inner)), None) = (all.next(), all.next()) else { return Ok(Self::Equals(value)) };
        let inner = inner.clone();
        Ok(match (name.as_str(), inner) {
            ("equals", inner) => Self::Equals(inner),
            ("contains", inner) => Self::Contains(inner),
            ("matches", Value::String(pattern)) => Self::Matches(pattern),
            ("matches", _) => return Err("matches takes a regular expression".into()),
            ("pieces", inner) => match serde_json::from_value(inner) {
                Ok(pieces) => Self::Pieces(pieces),
                Err(_) => return Err("pieces takes a list of texts".into()),
            },
            ("schema", inner) => Self::Schema(inner),
            ("exists", Value::Bool(exists)) => Self::Exists(exists),
            ("exists", _) => return Err("exists takes true or false".into()),
            ("not", inner) => Self::Not(Box::new(Self::read(inner)?)),
            _ => Self::Equals(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_as_expected() {
        for (expected, good, bad) in [
            (json!(5), json!(5.0), json!("5")),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)),
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), json!({"a": 1})),
            (json!({"equals": {"contains": 1}}), json!({"contains": 1}), json!([1])),
            (json!({"contains": "ell"}), json!("hello"), json!("halo")),
            (json!({"contains": ["a", "b"]}), json!("a or b"), json!("a")),
            (json!({"contains": "x"}), json!(["x", "y"]), json!(["xy"])),
            (json!({"contains": {"name": "add"}}), json!([{"name": "add", "x": 1}]), json!([{"name": "sub"}])),
            (json!({"contains": {"a": {"b": 1}}}), json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 2}})),
            (json!({"matches": "^[0-9]+$"}), json!("42"), json!("x42")),
            (json!({"matches": "4"}), json!(42), json!(5)),
            (json!({"pieces": ["a ", " b ", "c"]}), json!("a 1 b 2 c"), json!("a 1 b 2 c d")),
            (json!({"pieces": ["a", "a"]}), json!("aa"), json!("a")),
            (json!({"pieces": ["a"]}), json!("a"), json!("ab")),
            (json!({"schema": {"type": "integer"}}), json!(5), json!("x")),
            (json!({"not": {"contains": "x"}}), json!("a"), json!("x")),
            (json!({"exists": true}), json!(null), json!(null)),
        ] {
            let matcher = Matcher::read(expected.clone()).unwrap();
            assert_eq!(matcher.check(Some(&good)), Ok(()), "{expected}");
            if matches!(matcher, Matcher::Exists(_)) {
                assert!(matcher.check(None).is_err() && Matcher::Exists(false).check(None).is_ok());
            } else {
                assert!(matcher.check(Some(&bad)).is_err(), "{expected}");
                assert_eq!(matcher.check(None).is_err(), !matches!(matcher, Matcher::Not(_)), "{expected}");
            }
        }
    }

    #[test]
    fn a_difference_names_both_values() {
        let error = |matcher: Value, value: &Value| Matcher::read(matcher).unwrap().check(Some(value)).unwrap_err();
        assert_eq!(error(json!("5"), &json!("6")), "expected \"5\", got \"6\"");
        assert_eq!(error(json!({"contains": "x"}), &json!([])), "expected something that contains \"x\", got []");
        let long = error(json!(1), &json!("x".repeat(1000)));
        assert!(long.len() < 300 && long.ends_with('…'), "{long}");
        let schema = error(json!({"schema": {"type": "object", "required": ["a"]}}), &json!({}));
        assert_eq!(schema, "does not match the schema: \"a\" is missing");
        let lines = error(json!("a\nb"), &json!("a\nc"));
        assert_eq!(lines, "expected other text from line 2:\n  a\n- b\n+ c");
        let values = error(json!({"equals": {"a": "x".repeat(300), "b": 1}}), &json!({"a": "x".repeat(300), "b": 2}));
        assert_eq!(values, "expected other values:\n/b: expected 1, got 2");
    }
}
