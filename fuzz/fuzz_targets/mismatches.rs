//! The input is a schema and a value, a line each. A value that does not match is explained in a bounded text that names a
//! fault, one that matches is not; and a value with its texts decoded is the value, but for these texts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_schema::{Quote, Validator};
use protomcp_types::RawJson;
use serde_json::Value;

/// Eight faults of 300 bytes, with the count of the rest.
const LONGEST: usize = 8 * 320 + 64;

fuzz_target!(|input: &str| {
    let Some((schema, value)) = input.split_once('\n') else { return };
    let (Ok(schema), Ok(raw)) = (serde_json::from_str::<Value>(schema), RawJson::parse(value.to_owned())) else { return };
    let (Ok(validator), Ok(value)) = (Validator::compile(schema), raw.to::<Value>()) else { return };
    for quote in [Quote::Values, Quote::Nothing] {
        match validator.check(&value, quote) {
            Ok(()) => assert!(validator.is_valid(&value)),
            Err(mismatch) => {
                let text = mismatch.to_string();
                assert!(!validator.is_valid(&value) && !text.is_empty() && text.len() <= LONGEST, "{text}");
            }
        }
    }
    if let Some(decoded) = validator.decode_texts(&raw, &value) {
        let decoded: Value = decoded.to().expect("decoded JSON is JSON");
        assert!(differs_in_texts(&value, &decoded), "{value} became {decoded}");
    }
});

/// The values are the same, but for texts that are the JSON of something else.
fn differs_in_texts(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(text), after) if !after.is_string() => serde_json::from_str::<Value>(text).is_ok(),
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(before, after)| differs_in_texts(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before.iter().all(|(name, value)| after.get(name).is_some_and(|after| differs_in_texts(value, after)))
        }
        _ => before == after,
    }
}
