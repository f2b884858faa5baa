//! Schemas of tools that are out of proportion: each is refused, and in little time. Bounds that JSON cannot express.

use protomcp_descriptors::convert::{ConvertError, Converter, FieldLock, Style, to_json_schema};
use protomcp_descriptors::{Schema, SchemaLimits};
use serde_json::{Value, json};

use crate::conversion::convert;

#[test]
fn schemas_that_do_not_end_are_refused() {
    let converter = Converter::new("p").expect("a package");
    let refused =
        |schema: Value| converter.convert("t", &schema, None, &mut FieldLock::default()).expect_err("refused");
    let many: serde_json::Map<_, _> = (0..5000).map(|index| (format!("p{index}"), json!({}))).collect();
    assert_eq!(refused(json!({"properties": many})), ConvertError::TooLarge);
    for schema in [json!(true), json!([]), json!({"type": "string"}), json!({"$ref": "#"}), json!({"type": 5})] {
        assert_eq!(refused(schema), ConvertError::NotAnObject);
    }
    for package in ["a..b", "", "acme.google.v1", "acme.buf"] {
        assert!(matches!(Converter::new(package), Err(ConvertError::Package(_))), "{package}");
    }
}

#[test]
fn small_schemas_make_no_large_messages() {
    let converter = Converter::new("p").expect("a package");
    let convert = |properties: usize, property: &Value, big: &Value| {
        let properties: serde_json::Map<_, _> =
            (0..properties).map(|index| (format!("p{index}"), property.clone())).collect();
        let schema = json!({"properties": properties, "$defs": {"big": big}});
        converter.convert("t", &schema, None, &mut FieldLock::default())
    };
    let texts: Vec<String> = (0..2000).map(|index| format!("{index:028}")).collect();
    let big = json!({"type": "string", "enum": texts});
    let reference = json!({"$ref": "#/$defs/big"});
    assert!(convert(2, &reference, &big).is_ok());
    let list = json!({"type": "array", "items": reference});
    let all_of = json!({"allOf": [{"$ref": "#/$defs/big"}]});
    let long = json!({"type": "string", "examples": [texts.concat()]});
    for (property, big) in [(&reference, &big), (&list, &big), (&all_of, &big), (&reference, &long)] {
        assert_eq!(convert(1000, property, big).map(drop), Err(ConvertError::TooLarge), "{property}");
    }
    let plain = json!({"type": "string", "minLength": 1, "maxLength": 100, "description": "Some text."});
    assert!(convert(4000, &reference, &plain).is_ok());
    // A long key is part of the names of all messages inside.
    let inner: serde_json::Map<_, _> =
        (0..1000).map(|index| (format!("o{index}"), json!({"properties": {"a": {}}}))).collect();
    let nested = json!({"properties": {"k".repeat(100_000): {"properties": inner}}});
    let refused = converter.convert("t", &nested, None, &mut FieldLock::default());
    assert_eq!(refused.map(drop), Err(ConvertError::TooLarge));
}

/// The set with another bound of a number.
fn with_bound(mut set: Vec<u8>, old: f64, new: f64) -> Vec<u8> {
    let at = set.windows(8).position(|bytes| bytes == old.to_le_bytes()).expect("the bound is there");
    set[at..at + 8].copy_from_slice(&new.to_le_bytes());
    set
}

#[test]
fn only_finite_bounds_become_keywords() {
    let (lower, upper) = (-1234.5, 1234.5);
    let number = json!({"type": "number", "exclusiveMinimum": lower, "exclusiveMaximum": upper});
    let converted = convert(Style::Strict, &json!({"type": "object", "properties": {"n": number}}));
    for (low, high, expected) in [
        (-1.5, 5.5, (Some(json!(-1.5)), Some(json!(5.5)))),
        (f64::NEG_INFINITY, f64::INFINITY, (None, None)),
        (-1.5, f64::INFINITY, (Some(json!(-1.5)), None)),
        (f64::NAN, 5.5, (None, Some(json!(5.5)))),
        // The values outside of these.
        (5.5, f64::NEG_INFINITY, (Some(json!(5.5)), None)),
    ] {
        let set = with_bound(with_bound(converted.descriptor_set(), lower, low), upper, high);
        let set = Schema::decode(set, &SchemaLimits::default()).expect("the set is sound");
        let message = set.message(converted.input_type()).expect("there");
        let schema = to_json_schema(&message).expect("it is small");
        let bound = |keyword: &str| schema["properties"]["n"].get(keyword).cloned();
        assert_eq!((bound("exclusiveMinimum"), bound("exclusiveMaximum")), expected, "{low} {high}");
    }
}
