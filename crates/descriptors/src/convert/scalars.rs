//! Schemas of texts, numbers and booleans.

use serde_json::{Map, Number, Value};

use crate::convert::from_json::Style;
use crate::convert::model::FieldType;
use crate::convert::regex::to_re2;
use crate::convert::report::{Report, Verdict};
use crate::convert::rules::{RuleValue, Rules, Step};

const STRING: Step = ("string", 14);
const DOUBLE: Step = ("double", 2);
const BOOL: Step = ("bool", 13);

/// The formats that have a rule.
const FORMATS: &[(&str, Step)] = &[
    ("email", ("email", 12)),
    ("hostname", ("hostname", 13)),
    ("ipv4", ("ipv4", 15)),
    ("ipv6", ("ipv6", 16)),
    ("uri", ("uri", 17)),
    ("uri-reference", ("uri_ref", 18)),
    ("uuid", ("uuid", 22)),
];

/// A place in a schema, and the report about it.
pub(crate) struct Noted<'a> {
    pub(crate) report: &'a mut Report,
    pub(crate) pointer: &'a str,
}

impl Noted<'_> {
    pub(crate) fn lossy(&mut self, keyword: &str, reason: &str) {
        self.report.add(Verdict::Lossy, self.pointer, keyword, reason);
    }
}

/// The rules of a text.
pub(crate) fn string_rules(schema: &Map<String, Value>, noted: &mut Noted<'_>) -> Rules {
    let mut rules = Rules::default();
    for (keyword, step) in [("minLength", ("min_len", 2)), ("maxLength", ("max_len", 3))] {
        if let Some(length) = schema.get(keyword) {
            match length.as_u64() {
                Some(length) => rules.add(&[STRING, step], RuleValue::Uint(length)),
                None => noted.lossy(keyword, "it is not a number of characters"),
            }
        }
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        match to_re2(pattern) {
            Ok(pattern) => rules.add(&[STRING, ("pattern", 6)], RuleValue::Text(pattern)),
            Err(construct) => noted.lossy("pattern", &format!("{construct} is not valid in RE2")),
        }
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        match FORMATS.iter().find(|(name, _)| *name == format) {
            Some((_, step)) => rules.add(&[STRING, *step], RuleValue::Bool(true)),
            None => noted.lossy("format", &format!("{format:?} has no rule")),
        }
    }
    for keyword in ["contentEncoding", "contentMediaType", "contentSchema"] {
        if schema.contains_key(keyword) {
            noted.lossy(keyword, "the text is not decoded");
        }
    }
    rules
}

/// The rule for one of several texts.
pub(crate) fn string_choice(choices: &[&str]) -> Rules {
    let mut rules = Rules::default();
    if let [only] = choices {
        rules.add(&[STRING, ("const", 1)], RuleValue::Text((*only).to_owned()));
    } else {
        choices.iter().for_each(|text| rules.add(&[STRING, ("in", 10)], RuleValue::Text((*text).to_owned())));
    }
    rules
}

/// The rules of the keys of a map.
pub(crate) fn key_rules(names: &Map<String, Value>, noted: &mut Noted<'_>) -> Rules {
    let mut rules = string_rules(names, noted);
    let choices = match (names.get("const"), names.get("enum").and_then(Value::as_array)) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(values)) => Some(values.iter().collect()),
        (None, None) => None,
    };
    let texts: Option<Vec<&str>> = choices.map(|values| values.into_iter().filter_map(Value::as_str).collect());
    match texts {
        Some(texts) if texts.is_empty() => noted.lossy("enum", "only the empty map is allowed"),
        Some(texts) => rules.0.extend(string_choice(&texts).0),
        None => {}
    }
    rules
}

/// The rule for one boolean of a choice. Both together need none.
pub(crate) fn bool_choice(choices: &[bool]) -> Rules {
    let mut rules = Rules::default();
    if let [only] = choices {
        rules.add(&[BOOL, ("const", 1)], RuleValue::Bool(*only));
    }
    rules
}

/// The rule for one of several integers.
pub(crate) fn integer_choice(choices: &[i64], style: Style, noted: &mut Noted<'_>) -> (FieldType, Rules) {
    let wide = || choices.iter().copied().map(i128::from);
    let element = integer_type(wide().min(), wide().max(), style);
    let (least, most) = range(&element);
    if wide().any(|choice| choice < least || choice > most) {
        noted.lossy("enum", "integers have 32 bits");
    }
    let mut rules = Rules::default();
    for choice in choices.iter().filter(|choice| (least..=most).contains(&i128::from(**choice))) {
        rules.add(&[step(&element), ("in", 6)], integer(i128::from(*choice), &element));
    }
    (element, rules)
}

/// The type and the rules of an integer.
pub(crate) fn integer_rules(schema: &Map<String, Value>, style: Style, noted: &mut Noted<'_>) -> (FieldType, Rules) {
    let lowest = bound(schema, "minimum", f64::ceil, noted);
    let above = bound(schema, "exclusiveMinimum", f64::floor, noted);
    let highest = bound(schema, "maximum", f64::floor, noted);
    let below = bound(schema, "exclusiveMaximum", f64::ceil, noted);
    // The tighter of both; protobuf allows one of each pair.
    let lower = lowest.max(above.map(|value| value + 1));
    let upper = [highest, below.map(|value| value - 1)].into_iter().flatten().min();
    let element = integer_type(lower, upper, style);
    let (least, most) = range(&element);
    let mut rules = Rules::default();
    let is_empty = lower.zip(upper).is_some_and(|(lower, upper)| lower > upper);
    if is_empty || lower.is_some_and(|lower| lower > most) || upper.is_some_and(|upper| upper < least) {
        noted.lossy("minimum", "no number satisfies the bounds, which cannot be expressed");
        return (element, rules);
    }
    let is_open = lower.is_none() || upper.is_none();
    if style == Style::Seed && is_open {
        noted.lossy("type", "integers have 32 bits");
    } else if lower.is_some_and(|lower| lower < least) || upper.is_some_and(|upper| upper > most) {
        noted.lossy("type", "the integers between the bounds need more bits");
    }
    for (bound, inclusive, is_limit) in [
        (lower, ("gte", 5), lower.is_some_and(|bound| bound <= least)),
        (upper, ("lte", 3), upper.is_some_and(|bound| bound >= most)),
    ] {
        if let Some(bound) = bound.filter(|_| !is_limit) {
            rules.add(&[step(&element), inclusive], integer(bound, &element));
        }
    }
    for keyword in ["exclusiveMinimum", "exclusiveMaximum"] {
        if schema.get(keyword) == Some(&Value::Bool(true)) {
            noted.lossy(keyword, "the form of draft 4 is not read");
        }
    }
    if let Some(divisor) = schema.get("multipleOf") {
        match divisor.as_u64().filter(|divisor| (1..=1 << 31).contains(divisor)) {
            Some(1) => {}
            Some(divisor) => rules.add(&[("cel", 23)], multiple(divisor, &element)),
            None => noted.lossy("multipleOf", "only whole divisors are checked"),
        }
    }
    (element, rules)
}

/// The rules of a number.
pub(crate) fn number_rules(schema: &Map<String, Value>, style: Style, noted: &mut Noted<'_>) -> (FieldType, Rules) {
    let mut rules = Rules::default();
    let value = |keyword| schema.get(keyword).and_then(Value::as_f64).filter(|value| value.is_finite());
    let lower = tighter(value("minimum"), value("exclusiveMinimum"), |a, b| a > b);
    let upper = tighter(value("maximum"), value("exclusiveMaximum"), |a, b| a < b);
    if let (Some((low, _)), Some((high, _))) = (lower, upper)
        && low >= high
    {
        noted.lossy("minimum", "the bounds cannot be expressed");
    } else {
        for (bound, inclusive, exclusive) in [(lower, ("gte", 5), ("gt", 4)), (upper, ("lte", 3), ("lt", 2))] {
            if let Some((bound, is_inclusive)) = bound {
                rules.add(&[DOUBLE, if is_inclusive { inclusive } else { exclusive }], RuleValue::Double(bound));
            }
        }
    }
    for keyword in ["exclusiveMinimum", "exclusiveMaximum"] {
        if schema.get(keyword) == Some(&Value::Bool(true)) {
            noted.lossy(keyword, "the form of draft 4 is not read");
        }
    }
    if schema.contains_key("multipleOf") {
        noted.lossy("multipleOf", "it is checked for integers only");
    }
    if style == Style::Strict {
        rules.add(&[DOUBLE, ("finite", 8)], RuleValue::Bool(true));
    }
    (FieldType::Double, rules)
}

/// The tighter of two bounds, and if it is inclusive.
fn tighter(
    inclusive: Option<f64>,
    exclusive: Option<f64>,
    is_tighter: impl Fn(f64, f64) -> bool,
) -> Option<(f64, bool)> {
    match (inclusive, exclusive) {
        (Some(inclusive), Some(exclusive)) if is_tighter(inclusive, exclusive) => Some((inclusive, true)),
        (_, Some(exclusive)) => Some((exclusive, false)),
        (Some(inclusive), None) => Some((inclusive, true)),
        (None, None) => None,
    }
}

/// A bound of an integer; one with a fraction moves to the next whole number.
fn bound(
    schema: &Map<String, Value>,
    keyword: &str,
    whole: impl Fn(f64) -> f64,
    noted: &mut Noted<'_>,
) -> Option<i128> {
    let value = schema.get(keyword).filter(|value| !value.is_boolean())?;
    let exact = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let rounded = value.as_number().and_then(Number::as_f64).map(whole).filter(|value| value.abs() < 1e30);
    let found = exact.or_else(|| rounded.map(|value| value as i128));
    if found.is_none() {
        noted.lossy(keyword, "it is not a number that can be compared");
    }
    found
}

/// The smallest usual type that contains the bounds; 64 bits without bounds.
fn integer_type(lower: Option<i128>, upper: Option<i128>, style: Style) -> FieldType {
    let fits =
        |least: i128, most: i128| lower.is_some_and(|lower| lower >= least) && upper.is_some_and(|upper| upper <= most);
    if style == Style::Seed || fits(i128::from(i32::MIN), i128::from(i32::MAX)) {
        FieldType::Int32
    } else if fits(0, i128::from(u32::MAX)) {
        FieldType::Uint32
    } else if lower.is_some_and(|lower| lower >= 0)
        && (upper.is_some_and(|upper| upper > i128::from(i64::MAX))
            || lower.is_some_and(|lower| lower > i128::from(i64::MAX)))
    {
        FieldType::Uint64
    } else {
        FieldType::Int64
    }
}

fn range(element: &FieldType) -> (i128, i128) {
    match element {
        FieldType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        FieldType::Uint32 => (0, u32::MAX.into()),
        FieldType::Uint64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

fn step(element: &FieldType) -> Step {
    match element {
        FieldType::Int32 => ("int32", 3),
        FieldType::Uint32 => ("uint32", 5),
        FieldType::Uint64 => ("uint64", 6),
        _ => ("int64", 4),
    }
}

/// A bound in the range of the type.
fn integer(value: i128, element: &FieldType) -> RuleValue {
    let (least, most) = range(element);
    let value = value.clamp(least, most);
    match element {
        FieldType::Uint32 | FieldType::Uint64 => RuleValue::Uint(u64::try_from(value).unwrap_or_default()),
        _ => RuleValue::Int(i64::try_from(value).unwrap_or_default()),
    }
}

fn multiple(divisor: u64, element: &FieldType) -> RuleValue {
    let suffix = if matches!(element, FieldType::Uint32 | FieldType::Uint64) { "u" } else { "" };
    let expression = format!("this % {divisor}{suffix} == 0{suffix}");
    RuleValue::Cel("multiple_of".to_owned(), format!("must be a multiple of {divisor}"), expression)
}
