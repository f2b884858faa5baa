//! Schemas of tools that are out of proportion: each is refused, and in little time.

use protomcp_descriptors::convert::{ConvertError, Converter, FieldLock};
use serde_json::{Value, json};

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
