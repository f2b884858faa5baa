//! Values that are not messages of a schema: scalars, and the well-known types.

use std::collections::BTreeSet;

use prost_reflect::{EnumDescriptor, Kind};
use serde_json::{Map, Value, json};

use super::insert;
use super::sentences::{add_unread, describe};
use crate::convert::read_rules::{RuleSet, integer_rules};
use crate::convert::regex::to_ecma;

/// The enum whose only value is null.
pub(super) const NULL: &str = "google.protobuf.NullValue";

/// The schema of a well-known type.
pub(super) fn well_known(name: &str, rules: &RuleSet) -> Option<Map<String, Value>> {
    let wrapped = |kind| nullable(scalar(&kind, rules));
    let schema = match name.strip_prefix("google.protobuf.")? {
        "Any" => json!({"type": "object", "properties": {"@type": {"type": "string"}}, "required": ["@type"]}),
        "Timestamp" => json!({"type": "string", "format": "date-time"}),
        "Duration" => json!({"type": "string", "pattern": "^-?[0-9]+(\\.[0-9]{1,9})?s$"}),
        "FieldMask" => json!({"type": "string"}),
        "Struct" => json!({"type": "object"}),
        "ListValue" => json!({"type": "array"}),
        "Value" => json!({}),
        "Empty" => json!({"type": "object", "additionalProperties": false}),
        "BoolValue" => wrapped(Kind::Bool),
        "StringValue" => wrapped(Kind::String),
        "BytesValue" => wrapped(Kind::Bytes),
        "DoubleValue" => wrapped(Kind::Double),
        "FloatValue" => wrapped(Kind::Float),
        "Int32Value" => wrapped(Kind::Int32),
        "Int64Value" => wrapped(Kind::Int64),
        "UInt32Value" => wrapped(Kind::Uint32),
        "UInt64Value" => wrapped(Kind::Uint64),
        _ => return None,
    };
    schema.as_object().cloned()
}

fn nullable(mut schema: Map<String, Value>) -> Value {
    if schema.contains_key("const") || schema.contains_key("enum") {
        return json!({"anyOf": [schema, {"type": "null"}]});
    }
    let name = schema.get("type").cloned().unwrap_or_default();
    schema.insert("type".to_owned(), json!([name, "null"]));
    schema.into()
}

/// The schema of a scalar or an enum, with its rules.
pub(super) fn scalar(kind: &Kind, rules: &RuleSet) -> Map<String, Value> {
    let mut schema = plain(kind, rules);
    add_unread(&mut schema, kind, rules);
    schema
}

fn plain(kind: &Kind, rules: &RuleSet) -> Map<String, Value> {
    let mut schema = Map::new();
    match kind {
        Kind::Bool => {
            schema.insert("type".to_owned(), "boolean".into());
            insert(&mut schema, "const", rules.inner(13).unsigned(1).map(|value| value == 1));
        }
        Kind::String => string(&mut schema, &rules.inner(14)),
        Kind::Bytes => {
            schema.insert("type".to_owned(), "string".into());
            schema.insert("contentEncoding".to_owned(), "base64".into());
        }
        Kind::Double => {
            floating(&mut schema, &rules.inner(2), |bytes| Some(f64::from_le_bytes(bytes.try_into().ok()?)));
        }
        Kind::Float => {
            floating(&mut schema, &rules.inner(1), |bytes| Some(f32::from_le_bytes(bytes.try_into().ok()?).into()));
        }
        Kind::Enum(descriptor) if descriptor.full_name() == NULL => {
            schema.insert("type".to_owned(), "null".into());
        }
        Kind::Enum(descriptor) => return choice(descriptor, &rules.inner(16)),
        Kind::Message(_) => {}
        integer => self::integer(&mut schema, integer, rules),
    }
    schema
}

/// The names of an enum, without those that its rules exclude.
pub(super) fn choice(of: &EnumDescriptor, rules: &RuleSet) -> Map<String, Value> {
    let refused: BTreeSet<u64> = rules.integers(4).into_iter().collect();
    let allowed: BTreeSet<u64> = rules.integers(3).into_iter().collect();
    let only = rules.unsigned(1);
    let names = of.values().filter(|value| {
        let number = i64::from(value.number()).cast_unsigned();
        !refused.contains(&number)
            && (allowed.is_empty() || allowed.contains(&number))
            && only.is_none_or(|only| only == number)
    });
    let names: Vec<Value> = names.map(|value| value.name().into()).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), names.into());
    schema
}

/// True if the rules of an enum exclude no value that has a name.
pub(super) fn allows_all_names(rules: &RuleSet) -> bool {
    rules.integers(4).is_empty() && rules.integers(3).is_empty() && rules.unsigned(1).is_none()
}

fn string(schema: &mut Map<String, Value>, rules: &RuleSet) {
    schema.insert("type".to_owned(), "string".into());
    insert(schema, "minLength", rules.unsigned(19).or(rules.unsigned(2)));
    insert(schema, "maxLength", rules.unsigned(19).or(rules.unsigned(3)));
    if let Some(pattern) = rules.text(6) {
        match to_ecma(&pattern) {
            Some(pattern) => insert(schema, "pattern", Some(pattern)),
            None => insert(schema, "description", Some(format!("Pattern of RE2: {pattern}"))),
        }
    }
    insert(schema, "const", rules.text(1));
    let choices = rules.all_texts(10);
    insert(schema, "enum", (!choices.is_empty()).then_some(choices));
    let formats =
        [(12, "email"), (13, "hostname"), (15, "ipv4"), (16, "ipv6"), (17, "uri"), (18, "uri-reference"), (22, "uuid")];
    let format = formats.iter().find(|(number, _)| rules.is_true(*number));
    insert(schema, "format", format.map(|(_, name)| *name));
}

fn floating(schema: &mut Map<String, Value>, rules: &RuleSet, read: impl Fn(&[u8]) -> Option<f64>) {
    schema.insert("type".to_owned(), "number".into());
    // JSON has no other numbers, and a value of JSON is within infinite bounds.
    let bound = |number| rules.fixed(number).and_then(&read).filter(|value| value.is_finite());
    // With the lower bound above the upper one, protovalidate means the values outside.
    let lower = bound(4).or(bound(5));
    let upper = bound(2).or(bound(3));
    insert(schema, "const", bound(1));
    if lower.zip(upper).is_some_and(|(lower, upper)| lower > upper) {
        return outside(schema, |number| bound(number).map(|bound| bound.to_string()));
    }
    for (keyword, number) in [("exclusiveMaximum", 2), ("maximum", 3), ("exclusiveMinimum", 4), ("minimum", 5)] {
        insert(schema, keyword, bound(number));
    }
}

/// The sentence for bounds of which one has to hold.
fn outside(schema: &mut Map<String, Value>, bound: impl Fn(u32) -> Option<String>) {
    let words = [(2, "less than"), (3, "at most"), (4, "more than"), (5, "at least")];
    let bounds = words.iter().filter_map(|(number, words)| Some(format!("{words} {}", bound(*number)?)));
    describe(schema, &format!("Rule: {}", bounds.collect::<Vec<_>>().join(", or ")));
}

/// The range of a kind of integer.
fn integer_range(kind: &Kind) -> (i128, i128) {
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => (i32::MIN.into(), i32::MAX.into()),
        Kind::Uint32 | Kind::Fixed32 => (0, u32::MAX.into()),
        Kind::Uint64 | Kind::Fixed64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

/// The value of an integer rule, in the encoding of its kind.
fn integer_value(kind: &Kind, rules: &RuleSet, number: u32) -> Option<i128> {
    if let Some(bytes) = rules.fixed(number) {
        return match kind {
            Kind::Sfixed32 => Some(i32::from_le_bytes(bytes.try_into().ok()?).into()),
            Kind::Fixed32 => Some(u32::from_le_bytes(bytes.try_into().ok()?).into()),
            Kind::Sfixed64 => Some(i64::from_le_bytes(bytes.try_into().ok()?).into()),
            _ => Some(u64::from_le_bytes(bytes.try_into().ok()?).into()),
        };
    }
    rules.unsigned(number).map(|value| decoded(kind, value))
}

fn decoded(kind: &Kind, value: u64) -> i128 {
    match kind {
        Kind::Sint32 | Kind::Sint64 => {
            let half = i128::from(value >> 1);
            if value & 1 == 1 { -half - 1 } else { half }
        }
        Kind::Uint32 | Kind::Uint64 => value.into(),
        _ => value.cast_signed().into(),
    }
}

fn integer(schema: &mut Map<String, Value>, kind: &Kind, rules: &RuleSet) {
    let (least, most) = integer_range(kind);
    let divisor = rules.list(23).iter().find_map(|rule| divisor(&rule.text(3)?));
    let rules = rules.inner(integer_rules(kind));
    let value = |number| integer_value(kind, &rules, number);
    schema.insert("type".to_owned(), "integer".into());
    insert(schema, "const", value(1).and_then(to_json));
    let choices: Vec<Value> = rules.integers(6).into_iter().filter_map(|value| to_json(decoded(kind, value))).collect();
    let has_choices =
        !choices.is_empty() && !matches!(kind, Kind::Fixed32 | Kind::Fixed64 | Kind::Sfixed32 | Kind::Sfixed64);
    insert(schema, "enum", has_choices.then_some(choices));
    let lower = value(5).or(value(4).map(|above| above + 1));
    let upper = value(3).or(value(2).map(|below| below - 1));
    // With the lower bound above the upper one, protovalidate means the values outside.
    let is_outside = lower.zip(upper).is_some_and(|(lower, upper)| lower > upper);
    if is_outside {
        outside(schema, |number| value(number).map(|bound| bound.to_string()));
    }
    let (lower, upper) = if is_outside { (None, None) } else { (lower, upper) };
    insert(schema, "minimum", to_json(lower.unwrap_or(least)));
    insert(schema, "maximum", to_json(upper.unwrap_or(most)));
    insert(schema, "multipleOf", divisor);
}

/// The divisor in the expression of a rule that wants a multiple, as a converter writes it.
fn divisor(expression: &str) -> Option<u64> {
    let (divisor, zero) = expression.strip_prefix("this % ")?.split_once(" == ")?;
    let number = |text: &str| text.strip_suffix('u').unwrap_or(text).parse().ok();
    number(divisor).filter(|divisor| *divisor > 0 && number(zero) == Some(0))
}

fn to_json(value: i128) -> Option<Value> {
    i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from)).ok()
}

/// The schema of the keys of a map, if not every text is one.
pub(super) fn key(kind: &Kind, rules: &RuleSet) -> Option<Map<String, Value>> {
    let mut schema = Map::new();
    match kind {
        Kind::String => {
            string(&mut schema, &rules.inner(14));
            schema.remove("type");
        }
        Kind::Bool => {
            schema.insert("enum".to_owned(), json!(["true", "false"]));
        }
        Kind::Uint32 | Kind::Uint64 | Kind::Fixed32 | Kind::Fixed64 => {
            schema.insert("pattern".to_owned(), "^[0-9]+$".into());
        }
        _ => {
            schema.insert("pattern".to_owned(), "^-?[0-9]+$".into());
        }
    }
    (!schema.is_empty()).then_some(schema)
}

/// A schema that also accepts the empty text, or zero.
pub(super) fn or_zero(schema: Map<String, Value>, kind: &Kind) -> Map<String, Value> {
    let zero: Value = match kind {
        Kind::String | Kind::Bytes => "".into(),
        Kind::Bool => false.into(),
        Kind::Message(_) | Kind::Enum(_) => return schema,
        _ => 0.into(),
    };
    let mut either = Map::new();
    either.insert("anyOf".to_owned(), json!([schema, {"const": zero}]));
    either
}

/// True for an expression that does not match the empty text.
fn refuses_empty(pattern: &str) -> bool {
    let parsed = regex_syntax::parse(pattern);
    parsed.is_ok_and(|parsed| parsed.properties().minimum_len().is_some_and(|least| least > 0))
}

/// Excludes the value that a field without presence has when it is missing.
pub(super) fn exclude_zero(schema: &mut Map<String, Value>, kind: &Kind) {
    match kind {
        Kind::String | Kind::Bytes => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).max(1);
            schema.insert("minLength".to_owned(), least.into());
        }
        Kind::Bool => {
            schema.insert("const".to_owned(), true.into());
        }
        Kind::Enum(of) => {
            let zeros = of.values().filter(|value| value.number() == 0);
            let zeros: Vec<Value> = zeros.map(|value| value.name().into()).collect();
            schema.insert("not".to_owned(), json!({"enum": zeros}));
        }
        Kind::Message(_) => {}
        _ => {
            schema.insert("not".to_owned(), json!({"const": 0}));
        }
    }
}

/// True if the rules refuse the value of a missing scalar.
pub(super) fn refuses_zero(kind: &Kind, rules: &RuleSet) -> bool {
    match kind {
        Kind::String => {
            let rules = rules.inner(14);
            let choices = rules.all_texts(10);
            let some = |number: u32| rules.unsigned(number).is_some_and(|length| length > 0);
            some(2)
                || [4, 19, 20].into_iter().any(some)
                || [7, 8, 9].iter().any(|number| rules.text(*number).is_some_and(|part| !part.is_empty()))
                || rules.all_texts(11).iter().any(String::is_empty)
                || rules.text(6).is_some_and(|pattern| refuses_empty(&pattern))
                || rules.text(1).is_some_and(|only| !only.is_empty())
                || (!choices.is_empty() && !choices.iter().any(String::is_empty))
                // Formats. A reference (18) may be empty, and so may the value of a header (24 with 2).
                || [12, 13, 14, 15, 16, 17, 21, 22, 24, 26, 27, 28, 29, 30, 31, 32, 33, 35, 37, 38]
                    .iter()
                    .any(|number| rules.is_true(*number))
        }
        Kind::Enum(_) => {
            let rules = rules.inner(16);
            let allowed = rules.integers(3);
            rules.integers(4).contains(&0)
                || (!allowed.is_empty() && !allowed.contains(&0))
                || rules.unsigned(1).is_some_and(|only| only != 0)
        }
        Kind::Bool => rules.inner(13).is_true(1),
        Kind::Message(_) => false,
        Kind::Bytes => {
            let rules = rules.inner(15);
            let has = |number| rules.text(number).is_some_and(|part| !part.is_empty());
            [2, 13].iter().any(|number| rules.unsigned(*number).is_some_and(|length| length > 0))
                || [1, 5, 6, 7].into_iter().any(has)
                || rules.text(4).is_some_and(|pattern| refuses_empty(&pattern))
                || [10, 11, 12, 15].iter().any(|number| rules.is_true(*number))
        }
        number => {
            let schema = plain(number, rules);
            let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
            let is_zero = |value: &Value| value.as_f64() == Some(0.0);
            bound("minimum").is_some_and(|least| least > 0.0)
                || bound("maximum").is_some_and(|most| most < 0.0)
                || bound("exclusiveMinimum").is_some_and(|least| least >= 0.0)
                || bound("exclusiveMaximum").is_some_and(|most| most <= 0.0)
                || schema.get("const").is_some_and(|only| !is_zero(only))
                || schema.get("enum").and_then(Value::as_array).is_some_and(|all| !all.iter().any(is_zero))
        }
    }
}
