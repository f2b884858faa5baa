//! The keywords of JSON Schema that restrict values, by the kinds of values to which they apply.
//!
//! A conversion names the keywords that it has read; the others are reported, so that none is dropped in silence. The
//! keywords are from all drafts since draft 4. Annotations and unknown keywords restrict nothing.

use serde_json::{Map, Value};

/// The kind of the values of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    /// Booleans and null.
    Constant,
    List,
    Object,
    /// Not known.
    Anything,
}

const ALWAYS: &[&str] =
    &["$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"];

const TEXT: &[&str] =
    &["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"];

const NUMBER: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

const LIST: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "unevaluatedItems",
];

const OBJECT: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "required",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
];

impl Kind {
    fn keywords(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Text => &[ALWAYS, TEXT],
            Self::Number => &[ALWAYS, NUMBER],
            Self::Constant => &[ALWAYS],
            Self::List => &[ALWAYS, LIST],
            Self::Object => &[ALWAYS, OBJECT],
            Self::Anything => &[ALWAYS, TEXT, NUMBER, LIST, OBJECT],
        }
    }
}

/// The keywords that restrict values of a kind and are not among those that were read, in a fixed order.
pub(crate) fn unread(schema: &Map<String, Value>, kind: Kind, read: &[&str]) -> Vec<&'static str> {
    let all = kind.keywords().iter().flat_map(|group| group.iter().copied());
    let restricts = |keyword: &&str| schema.get(*keyword).is_some_and(|value| !accepts_everything(keyword, value));
    all.filter(|keyword| !read.contains(keyword)).filter(restricts).collect()
}

/// True for a value with which a keyword restricts nothing.
fn accepts_everything(keyword: &str, value: &Value) -> bool {
    match value {
        Value::Bool(false) => keyword == "uniqueItems",
        Value::Bool(true) => !["not", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"].contains(&keyword),
        Value::Number(number) => keyword.starts_with("min") && keyword != "minimum" && number.as_u64() == Some(0),
        Value::Array(list) => list.is_empty() && !["enum", "anyOf", "oneOf"].contains(&keyword),
        Value::Object(members) => members.is_empty() && keyword != "not",
        Value::Null | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_that_restrict_are_listed_unless_they_were_read() {
        for (schema, kind, read, expected) in [
            (json!({"minLength": 1, "minimum": 1}), Kind::Text, &[][..], &["minLength"][..]),
            (json!({"minLength": 1, "minimum": 1}), Kind::Number, &["minimum"], &[]),
            (json!({"minLength": 1, "minimum": 1}), Kind::Anything, &[], &["minLength", "minimum"]),
            (json!({"not": {}, "title": "x", "x-y": 1, "$comment": ""}), Kind::Constant, &[], &["not"]),
            (json!({"uniqueItems": false, "minItems": 0, "items": {}, "contains": true}), Kind::List, &[], &[]),
            (json!({"minimum": 0, "exclusiveMinimum": true}), Kind::Number, &[], &["minimum", "exclusiveMinimum"]),
            (
                json!({"required": [], "properties": {}, "additionalProperties": false, "minProperties": 1}),
                Kind::Object,
                &[],
                &["additionalProperties", "minProperties"],
            ),
            (json!({"enum": []}), Kind::Text, &[], &["enum"]),
        ] {
            assert_eq!(unread(schema.as_object().expect("an object"), kind, read), expected, "{schema}");
        }
    }
}
