//! JSON and JSON Schemas of a fuzzer's choice: no input is spent on text that is not JSON.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Number, Value};

/// Names and texts that mean something somewhere, or nearly.
const WORDS: [&str; 24] = [
    "",
    "a",
    "b",
    "A",
    "_a",
    "a_",
    "foo-bar",
    "foo_bar",
    "fooBar",
    "foo_bar_2",
    "1",
    "é",
    "~",
    "a/b",
    "message",
    "value",
    "#/$defs/a",
    "#/$defs/b",
    "#",
    "#/properties/a",
    "^a+$",
    "(?!b)",
    "date-time",
    "9223372036854775808",
];

/// The most elements of a list or members of an object.
const MOST: usize = 6;

/// A text.
pub fn text(input: &mut Unstructured<'_>) -> Result<String> {
    if input.ratio(1, 8)? { Ok(input.arbitrary::<&str>()?.to_owned()) } else { Ok((*input.choose(&WORDS)?).to_owned()) }
}

/// A value with at most this many levels of lists and objects.
pub fn value(input: &mut Unstructured<'_>, levels: u8) -> Result<Value> {
    let most = if levels == 0 { 5 } else { 7 };
    Ok(match input.int_in_range(0..=most)? {
        0 => Value::Null,
        1 => input.arbitrary::<bool>()?.into(),
        2 => input.arbitrary::<i64>()?.into(),
        3 => input.arbitrary::<u64>()?.into(),
        4 => Number::from_f64(input.arbitrary()?).map_or(Value::Null, Value::Number),
        5 => text(input)?.into(),
        6 => list(input, |input| value(input, levels - 1))?.into(),
        _ => object(input, |input| value(input, levels - 1))?.into(),
    })
}

/// A JSON Schema of an object, with any of the keywords that a conversion reads.
pub fn tool_schema(input: &mut Unstructured<'_>) -> Result<Value> {
    let mut schema = keywords(input, 3)?;
    if !input.ratio(1, 16)? {
        schema.insert("type".to_owned(), "object".into());
    }
    Ok(Value::Object(schema))
}

fn schema(input: &mut Unstructured<'_>, levels: u8) -> Result<Value> {
    if input.ratio(1, 16)? { Ok(input.arbitrary::<bool>()?.into()) } else { keywords(input, levels).map(Value::Object) }
}

fn keywords(input: &mut Unstructured<'_>, levels: u8) -> Result<Map<String, Value>> {
    let mut schema = Map::new();
    for _ in 0..input.int_in_range(0..=MOST)? {
        let (keyword, value) =
            if levels == 0 || input.ratio(1, 2)? { plain(input)? } else { nested(input, levels - 1)? };
        schema.insert(keyword.to_owned(), value);
    }
    Ok(schema)
}

/// A keyword whose value is not a schema.
fn plain(input: &mut Unstructured<'_>) -> Result<(&'static str, Value)> {
    const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];
    const COUNTS: [&str; 10] = [
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
    ];
    const TEXTS: [&str; 6] = ["pattern", "format", "$ref", "description", "title", "contentEncoding"];
    Ok(match input.int_in_range(0..=6)? {
        0 | 1 => ("type", (*input.choose(&TYPES)?).into()),
        2 => ("type", list(input, |input| Ok((*input.choose(&TYPES)?).into()))?.into()),
        3 => (*input.choose(&COUNTS)?, value(input, 0)?),
        4 => (*input.choose(&TEXTS)?, text(input)?.into()),
        5 => ("required", list(input, |input| Ok(text(input)?.into()))?.into()),
        _ => (*input.choose(&["enum", "const", "default", "examples", "uniqueItems"])?, value(input, 2)?),
    })
}

/// A keyword with schemas.
fn nested(input: &mut Unstructured<'_>, levels: u8) -> Result<(&'static str, Value)> {
    const ONE: [&str; 5] = ["items", "additionalProperties", "propertyNames", "not", "contains"];
    const MANY: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
    const NAMED: [&str; 3] = ["properties", "$defs", "patternProperties"];
    Ok(match input.int_in_range(0..=3)? {
        0 => (*input.choose(&ONE)?, schema(input, levels)?),
        1 => (*input.choose(&MANY)?, list(input, |input| schema(input, levels))?.into()),
        2 => ("properties", object(input, |input| schema(input, levels))?.into()),
        _ => (*input.choose(&NAMED)?, object(input, |input| schema(input, levels))?.into()),
    })
}

fn list(
    input: &mut Unstructured<'_>,
    mut element: impl FnMut(&mut Unstructured<'_>) -> Result<Value>,
) -> Result<Vec<Value>> {
    (0..input.int_in_range(0..=MOST)?).map(|_| element(input)).collect()
}

fn object(
    input: &mut Unstructured<'_>,
    mut member: impl FnMut(&mut Unstructured<'_>) -> Result<Value>,
) -> Result<Map<String, Value>> {
    (0..input.int_in_range(0..=MOST)?).map(|_| Ok((text(input)?, member(input)?))).collect()
}
