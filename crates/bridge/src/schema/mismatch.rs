//! Why arguments do not fit a schema, so that a model can mend them: the place, what was expected there, and the name that
//! was probably meant. Values are not repeated, because they end up in logs.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// More faults than this are not listed: the first ones cause the others.
const FAULTS: usize = 3;
/// Names compared with a wrong one, and characters of each that count.
const NAMES: usize = 256;
const NAME_LENGTH: usize = 64;

/// What is wrong with `value`; `None` when it is valid.
pub(super) fn mismatch(validator: &Validator, schema: &Value, value: &Value) -> Option<String> {
    let faults: Vec<_> = validator.iter_errors(value).take(FAULTS).map(|error| fault(&error, schema, value)).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn fault(error: &ValidationError<'_>, schema: &Value, value: &Value) -> String {
    let path = error.instance_path().as_str();
    let place = if path.is_empty() { "arguments".to_owned() } else { format!("arguments{path}") };
    let here = value.pointer(path).unwrap_or(value);
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let object = object(error, schema);
            let known = known(object);
            // A name that the schema does not know is probably the missing one, misspelt. Where unknown names are faults
            // of their own, that one says so.
            let open = object.get("additionalProperties") != Some(&Value::Bool(false));
            let strange = members(here).filter(|member| open && !known.contains(member));
            let hint =
                nearest(name, strange).map(|near| format!("; \"{near}\" is unknown and may be recipient to be it"));
            format!("{place}: \"{name}\" is required{}", hint.unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = known(object(error, schema));
            let name = |name: &String| match nearest(name, known.iter().copied()) {
                Some(near) => format!("\"{name}\" is unknown; did you mean \"{near}\"?"),
                None => format!("\"{name}\" is unknown"),
            };
            format!("{place}: {}", unexpected.iter().take(FAULTS).map(name).collect::<Vec<_>>().join(", "))
        }
        ValidationErrorKind::Enum { options } => {
            let texts = options.as_array().into_iter().flatten().filter_map(Value::as_str);
            let near = here.as_str().and_then(|text| nearest(text, texts));
            let hint = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
            format!("{place}: must be one of {options}{hint}")
        }
        _ => format!("{place}: {}", error.masked()),
    }
}

/// The part of the schema whose keyword has found the fault.
fn object<'a>(error: &ValidationError<'_>, schema: &'a Value) -> &'a Value {
    let keyword = error.schema_path().as_str();
    let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
    schema.pointer(parent).unwrap_or(schema)
}

/// The names it knows.
fn known(object: &Value) -> Vec<&str> {
    object.get("properties").map(|properties| members(properties).take(NAMES).collect()).unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flatten().map(|(name, _)| name.as_str())
}

/// The name that is a slip or two away, if there is one.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let near = names.take(NAMES).map(|other| (distance(name, other), other));
    near.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// How many characters are to be inserted, left out or replaced, or swapped with their neighbour, regardless of case.
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.chars().take(NAME_LENGTH).flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    // Three rows of the table of prefixes: the last but one is for neighbours that were swapped.
    let (mut before, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(left != right)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_place_the_expectation_and_the_name_that_was_meant() {
        let schema = json!({
            "type": "object",
            "required": ["city"],
            "properties": {
                "city": {"type": "string"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                "where": {"type": "object", "properties": {"lat": {}, "lon": {}}, "additionalProperties": false}
            },
            "additionalProperties": false
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        for (value, why) in [
            (json!({"city": "Rome", "days": [1, 2]}), None),
            (json!({}), Some(r#"arguments: "city" is required"#)),
            (
                json!({"ctiy": "Rome"}),
                Some(r#"arguments: "ctiy" is unknown; did you mean "city"?; arguments: "city" is required"#),
            ),
            (json!({"city": "Rome", "zzz": 1}), Some(r#"arguments: "zzz" is unknown"#)),
            (json!({"city": 7}), Some(r#"arguments/city: value is not of type "string""#)),
            (
                json!({"city": "Rome", "unit": "celcius"}),
                Some(r#"arguments/unit: must be one of ["celsius","fahrenheit"]; did you mean "celsius"?"#),
            ),
            (json!({"city": "Rome", "unit": 1}), Some(r#"arguments/unit: must be one of ["celsius","fahrenheit"]"#)),
            (json!({"city": "Rome", "days": [1, 0]}), Some("arguments/days/1: value is less than the minimum of 1")),
            (
                json!({"city": "Rome", "where": {"lonn": 1}}),
                Some(r#"arguments/where: "lonn" is unknown; did you mean "lon"?"#),
            ),
        ] {
            assert_eq!(mismatch(&validator, &schema, &value).as_deref(), why, "{value}");
        }
    }

    #[test]
    fn a_name_that_is_missing_may_have_been_misspelt() {
        let schema = json!({"required": ["city"], "properties": {"city": {}}});
        let validator = jsonschema::validator_for(&schema).unwrap();
        for (value, why) in [
            (json!({"ctiy": 1}), r#"arguments: "city" is required; "ctiy" is unknown and may be recipient to be it"#),
            (json!({"town": 1}), r#"arguments: "city" is required"#),
        ] {
            assert_eq!(mismatch(&validator, &schema, &value).as_deref(), Some(why));
        }
    }

    #[test]
    fn few_faults_are_told_and_no_values() {
        let schema = json!({"items": {"type": "string"}});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let why = mismatch(&validator, &schema, &json!([4711, 4711, 4711, 4711])).unwrap();
        assert_eq!((why.matches("arguments/").count(), why.contains("4711")), (FAULTS, false), "{why}");
    }

    #[test]
    fn slips_are_counted() {
        for (a, b, slips) in [
            ("", "", 0),
            ("city", "city", 0),
            ("City", "city", 0),
            ("ctiy", "city", 1),
            ("cit", "city", 1),
            ("citty", "city", 1),
            ("cite", "city", 1),
            ("town", "city", 4),
            ("", "city", 4),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (slips, slips), "{a} {b}");
        }
    }
}
