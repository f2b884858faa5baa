//! Values that arrive as JSON text.
//!
//! Some hosts send an array, an object or a number as the text of its JSON, now and then. The schema of a tool tells such a
//! text from one that is meant as text: it is decoded where the schema forbids the text and allows the value inside.

use jsonschema::error::{ValidationError, ValidationErrorKind};
use protomcp_types::{JsonObject, Kind, RawJson, array};
use serde_json::Value;

/// The texts that are tried. A value can have a million.
const MAX_TEXTS: usize = 256;
/// The texts that are tried one by one, when the value is faulty in other ways, too.
const MAX_TRIALS: usize = 16;

/// A text in a value, and the JSON inside it.
struct Text {
    pointer: String,
    json: RawJson,
    value: Value,
}

/// The value with each text decoded that the schema forbids while it allows the JSON inside. `None` if there is no such
/// text. `value` is `raw`, read, and does not match.
pub(crate) fn decode(validator: &jsonschema::Validator, raw: &RawJson, value: &Value) -> Option<RawJson> {
    let (mut texts, mut inner) = (Vec::new(), Vec::new());
    for error in validator.iter_errors(value).take(MAX_TEXTS) {
        collect(&error, &mut texts);
        branches(&error, &mut inner);
    }
    let outer = texts.len();
    inner.retain(|one: &Text| texts.iter().all(|known| known.pointer != one.pointer));
    texts.extend(inner);
    if texts.is_empty() {
        return None;
    }
    let mut trial = value.clone();
    for text in &texts {
        *trial.pointer_mut(&text.pointer)? = text.value.clone();
    }
    if !validator.is_valid(&trial) {
        texts.truncate(outer.min(MAX_TRIALS));
        texts.retain(|text| fits_alone(validator, value, text));
    }
    let mut decoded = None;
    for text in texts {
        decoded = Some(replaced(decoded.as_ref().unwrap_or(raw), &text.pointer, &text.json)?);
    }
    decoded
}

/// The text that an error is about, if it is JSON of another kind.
fn collect(error: &ValidationError<'_>, texts: &mut Vec<Text>) {
    let pointer = error.instance_path().as_str();
    let is_new = texts.len() < MAX_TEXTS && texts.iter().all(|known| known.pointer != pointer);
    let Some(text) = error.instance().as_str().filter(|_| is_new) else { return };
    let Ok(json) = RawJson::parse(text.to_owned()) else { return };
    if json.kind() != Kind::String
        && let Ok(value) = json.to()
    {
        texts.push(Text { pointer: pointer.to_owned(), json, value });
    }
}

/// The texts that the errors of the branches of a union are about.
fn branches(error: &ValidationError<'_>, texts: &mut Vec<Text>) {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
        for error in context.iter().flatten() {
            collect(error, texts);
            branches(error, texts);
        }
    }
}

/// True if nothing at this place, or inside it, is faulty once the text is decoded.
fn fits_alone(validator: &jsonschema::Validator, value: &Value, text: &Text) -> bool {
    let mut trial = value.clone();
    let Some(place) = trial.pointer_mut(&text.pointer) else { return false };
    *place = text.value.clone();
    let inside = format!("{}/", text.pointer);
    let is_here = |path: &str| path == text.pointer || path.starts_with(&inside);
    !validator.iter_errors(&trial).any(|error| is_here(error.instance_path().as_str()))
}

/// `raw` with another value at `pointer`; the rest stays as it was written.
fn replaced(raw: &RawJson, pointer: &str, json: &RawJson) -> Option<RawJson> {
    let Some(rest) = pointer.strip_prefix('/') else { return Some(json.clone()) };
    let (name, rest) = rest.find('/').map_or((rest, ""), |end| rest.split_at(end));
    match raw.kind() {
        Kind::Object => {
            let name = name.replace("~1", "/").replace("~0", "~");
            let mut members = JsonObject::from_raw(raw).ok()?;
            let member = replaced(members.member(&name)?, rest, json)?;
            members.insert(name, member);
            Some(members.to_body().into_raw())
        }
        Kind::Array => {
            let mut elements: Vec<RawJson> = raw.to().ok()?;
            let element = elements.get_mut(name.parse::<usize>().ok()?)?;
            *element = replaced(element, rest, json)?;
            Some(array(elements))
        }
        Kind::String | Kind::Number | Kind::Boolean | Kind::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validator::Validator;

    #[track_caller]
    fn check(schema: Value, rows: &[(&str, Option<&str>)]) {
        let validator = Validator::compile(schema).unwrap();
        for (sent, expected) in rows {
            let raw = RawJson::parse((*sent).to_owned()).unwrap();
            let decoded = validator.decode_texts(&raw, &raw.to().unwrap());
            assert_eq!(decoded.as_ref().map(RawJson::as_str), *expected, "{sent}");
        }
    }

    fn arguments(name: &str, schema: &Value) -> Value {
        json!({"type": "object", "properties": {name: schema, "n": {"type": "integer"}}, "additionalProperties": false})
    }

    #[test]
    fn only_a_text_that_the_schema_forbids_is_decoded() {
        check(
            arguments("a", &json!({"type": "array", "items": {"type": "integer"}})),
            &[
                (r#"{"a":"[1, 2]"}"#, Some(r#"{"a":[1, 2]}"#)),
                (r#"{"a":["1",2]}"#, Some(r#"{"a":[1,2]}"#)),
                (r#"{"a":[1]}"#, None),
                // Neither the text nor the value inside it is allowed.
                (r#"{"a":"[\"x\"]"}"#, None),
                (r#"{"a":"{}"}"#, None),
                (r#"{"a":"one, two"}"#, None),
                (r#"{"a":"\"[1]\""}"#, None),
            ],
        );
        check(arguments("a", &json!({"type": "string"})), &[(r#"{"a":"[1]"}"#, None), (r#"{"a":5}"#, None)]);
        check(arguments("a", &json!({"type": ["string", "null"]})), &[(r#"{"a":"null"}"#, None)]);
        check(arguments("a", &json!({"type": ["object", "null"]})), &[(r#"{"a":"null"}"#, Some(r#"{"a":null}"#))]);
        check(arguments("a", &json!({"type": "boolean"})), &[(r#"{"a":"true"}"#, Some(r#"{"a":true}"#))]);
        check(
            arguments("a", &json!({"enum": [1, 2]})),
            &[(r#"{"a":"1"}"#, Some(r#"{"a":1}"#)), (r#"{"a":"3"}"#, None)],
        );
        check(arguments("a", &json!({})), &[(r#"{"a":"[1]"}"#, None)]);
    }

    #[test]
    fn the_rest_of_the_value_stays_as_it_was_written() {
        let items = json!({"type": "array", "items": {"type": "object", "properties": {"x/y": {"type": "number"}}}});
        check(
            arguments("a~b", &items),
            &[(
                r#"{ "n": 9007199254740993, "a~b":[{"x/y":"12345678901234567890.50"}, 1.0e2] }"#,
                Some(r#"{"n":9007199254740993,"a~b":[{"x/y":12345678901234567890.50},1.0e2]}"#),
            )],
        );
    }

    #[test]
    fn a_text_is_decoded_although_another_argument_is_wrong() {
        check(
            arguments("a", &json!({"type": "object"})),
            &[
                (r#"{"a":"{}","n":"x"}"#, Some(r#"{"a":{},"n":"x"}"#)),
                (r#"{"a":"[]","n":"5"}"#, Some(r#"{"a":"[]","n":5}"#)),
            ],
        );
    }

    #[test]
    fn unions_decide_by_their_branches() {
        let either = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]});
        check(arguments("a", &either), &[(r#"{"a":"[1]"}"#, Some(r#"{"a":[1]}"#)), (r#"{"a":"x"}"#, None)]);
        let tagged = json!({"type": "object", "oneOf": [
            {"properties": {"kind": {"const": "list"}, "of": {"type": "array"}}, "required": ["kind"]},
            {"properties": {"kind": {"const": "text"}, "of": {"type": "string"}}, "required": ["kind"]},
        ]});
        check(
            tagged,
            &[
                (r#"{"kind":"list","of":"[1]"}"#, Some(r#"{"kind":"list","of":[1]}"#)),
                (r#"{"kind":"text","of":"[1]"}"#, None),
            ],
        );
    }

    #[test]
    fn many_texts_take_bounded_work() {
        let list = json!({"type": "array", "items": {"type": "integer"}});
        let many = format!(r#"{{"a":[{}"x"]}}"#, r#""1","#.repeat(10_000));
        let validator = Validator::compile(arguments("a", &list)).unwrap();
        let raw = RawJson::parse(many).unwrap();
        let decoded = validator.decode_texts(&raw, &raw.to().unwrap()).unwrap();
        assert_eq!(decoded.as_str().matches("\"1\"").count(), 10_000 - MAX_TRIALS);
    }
}
