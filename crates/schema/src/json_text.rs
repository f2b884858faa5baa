//! Values that arrive as JSON text.
//!
//! Some hosts send an array, an object or a number as the text of its JSON, now and then. The schema of a tool tells such a
//! text from one that is meant as text: it is decoded where the schema forbids the text and allows the value inside.

use std::collections::HashSet;
use std::ptr;

use jsonschema::Draft;
use protomcp_types::{JsonObject, Kind, RawJson, array};
use serde_json::Value;

use crate::walk::path::{Path, Step};
use crate::walk::{MAX_STEPS, Walk};

/// The texts that are tried. A value can have a million.
const MAX_TEXTS: usize = 256;
/// The texts that are tried one by one, when the value is faulty in other ways, too.
const MAX_TRIALS: usize = 16;
/// The faults whose values are looked at.
const MAX_PLACES: usize = 4096;
/// The comparisons for all trials.
const TRIAL_STEPS: usize = 2 * MAX_STEPS;

/// A text in a value, and the JSON inside it.
struct Text<'a> {
    steps: Vec<Step<'a>>,
    json: RawJson,
    value: Value,
}

/// The value with each text decoded that the schema forbids while it allows the JSON inside. `None` if there is no such
/// text. `value` is `raw`, read, and does not match.
pub(crate) fn decode(
    validator: &jsonschema::Validator,
    schema: &Value,
    raw: &RawJson,
    value: &Value,
) -> Option<RawJson> {
    let (mut texts, mut inner, mut left) = (Vec::new(), Vec::new(), MAX_PLACES);
    let mut seen = HashSet::new();
    let found = Walk::new(schema, validator.draft(), MAX_STEPS).faults(schema, value);
    found.visit_values(false, &mut |path, value, is_inside| {
        let kept = if is_inside { &mut inner } else { &mut texts };
        // A place in a branch may be one outside of it, too, which counts more.
        if seen.insert((ptr::from_ref(value), is_inside)) {
            collect(path, value, kept);
        }
        left -= 1;
        left > 0
    });
    let outer = texts.len();
    inner.retain(|one: &Text<'_>| texts.iter().all(|known: &Text<'_>| known.steps != one.steps));
    texts.extend(inner);
    if texts.is_empty() {
        return None;
    }
    let mut trial = value.clone();
    for text in &texts {
        *at(&mut trial, &text.steps)? = text.value.clone();
    }
    if !validator.is_valid(&trial) {
        texts.truncate(outer.min(MAX_TRIALS));
        let mut trials = Trials { schema, draft: validator.draft(), value, steps: TRIAL_STEPS };
        texts.retain(|text| trials.fits_alone(text));
    }
    let mut decoded = None;
    for text in texts {
        decoded = Some(replaced(decoded.as_ref().unwrap_or(raw), &text.steps, &text.json)?);
    }
    decoded
}

/// The text that a fault is about, if it is JSON of another kind.
fn collect<'a>(path: &Path<'a>, value: &Value, texts: &mut Vec<Text<'a>>) {
    let Some(text) = value.as_str().filter(|_| texts.len() < MAX_TEXTS) else { return };
    let Ok(json) = RawJson::parse(text.to_owned()) else { return };
    if json.kind() != Kind::String
        && let Ok(value) = json.to()
    {
        texts.push(Text { steps: path.steps(), json, value });
    }
}

/// The part of a value at a place.
fn at<'v>(value: &'v mut Value, steps: &[Step<'_>]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Member(name) => value.get_mut(*name),
        Step::Element(index) => value.get_mut(*index),
    })
}

/// Tries the texts of a value one by one.
struct Trials<'a> {
    schema: &'a Value,
    draft: Draft,
    value: &'a Value,
    /// The comparisons that are left for them.
    steps: usize,
}

impl Trials<'_> {
    /// True if nothing at this place, or inside it, is faulty once the text is decoded.
    fn fits_alone(&mut self, text: &Text<'_>) -> bool {
        let mut trial = self.value.clone();
        let Some(place) = at(&mut trial, &text.steps) else { return false };
        *place = text.value.clone();
        let mut walk = Walk::new(self.schema, self.draft, self.steps);
        let found = walk.faults(self.schema, &trial);
        self.steps = walk.steps();
        let mut left = MAX_STEPS;
        // A part that was not compared may be faulty.
        found.is_complete()
            && found.visit(&mut |fault| {
                left -= 1;
                let is_here = fault.assertion().is_some_and(|one| one.path.steps().starts_with(&text.steps));
                left > 0 && !is_here
            })
    }
}

/// `raw` with another value at a place; the rest stays as it was written.
fn replaced(raw: &RawJson, steps: &[Step<'_>], json: &RawJson) -> Option<RawJson> {
    match steps.split_first() {
        None => Some(json.clone()),
        Some((Step::Member(name), rest)) => {
            let mut members = JsonObject::from_raw(raw).ok()?;
            let member = replaced(members.member(name)?, rest, json)?;
            members.insert((*name).to_owned(), member);
            Some(members.to_body().into_raw())
        }
        Some((Step::Element(index), rest)) => {
            let mut elements: Vec<RawJson> = raw.to().ok()?;
            let element = elements.get_mut(*index)?;
            *element = replaced(element, rest, json)?;
            Some(array(elements))
        }
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
    fn the_text_of_an_int64_is_decoded_with_all_its_digits() {
        let wide = json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX});
        let rows = [
            (r#"{"a":9223372036854775807}"#, None),
            (r#"{"a":"9223372036854775807"}"#, Some(r#"{"a":9223372036854775807}"#)),
            (r#"{"a":"-9223372036854775808"}"#, Some(r#"{"a":-9223372036854775808}"#)),
            (r#"{"a":"9223372036854775808"}"#, None),
            (r#"{"a":"1.5"}"#, None),
            (r#"{"a":""}"#, None),
        ];
        check(arguments("a", &wide), &rows);
        check(arguments("a", &json!({"type": ["integer", "null"], "minimum": i64::MIN, "maximum": i64::MAX})), &rows);
        check(
            arguments("a", &json!({"type": "array", "items": wide})),
            &[(r#"{"a":["9007199254740993",5]}"#, Some(r#"{"a":[9007199254740993,5]}"#))],
        );
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
        let many = format!(r#"{{"a":[{}"x"]}}"#, r#""1","#.repeat(1_000));
        let validator = Validator::compile(arguments("a", &list)).unwrap();
        let raw = RawJson::parse(many).unwrap();
        let decoded = validator.decode_texts(&raw, &raw.to().unwrap()).unwrap();
        assert_eq!(decoded.as_str().matches("\"1\"").count(), 1_000 - MAX_TRIALS);
    }
}
