//! Field numbers over several conversions.

use protomcp_descriptors::convert::{Converter, FieldLock};
use protomcp_descriptors::{MessageLimits, Schema, SchemaLimits};
use serde_json::{Value, json};

#[test]
fn numbers_stay_when_properties_move() {
    let converter = Converter::new("acme.tools.v1").expect("a package");
    let mut lock = FieldLock::default();
    let mut numbers = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        let converted = converter.convert("t", &schema, None, &mut lock).expect("an object");
        lock = FieldLock::parse(&lock.to_text()).expect("what was written is read");
        let text = converted.message_text(converted.input_type()).expect("there");
        let lines = text.lines().map(str::trim).filter(|line| line.ends_with(';'));
        lines.map(|line| line.trim_start_matches("google.protobuf.Value ").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(json!({"a": {}, "b": {}})), ["a = 1;", "b = 2;"]);
    assert_eq!(numbers(json!({"b": {}, "c": {}, "a": {}})), ["b = 2;", "c = 3;", "a = 1;"]);
    assert_eq!(numbers(json!({"c": {}})), ["reserved 1, 2;", "c = 3;"]);
    assert_eq!(numbers(json!({"d": {}, "a": {}})), ["reserved 2, 3;", "d = 4;", "a = 1;"]);
}

#[test]
fn numbers_stay_when_objects_with_equal_names_move() {
    let converter = Converter::new("p").expect("a package");
    let mut lock = FieldLock::default();
    let mut numbers = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        let converted = converter.convert("t", &schema, None, &mut lock).expect("an object");
        lock = FieldLock::parse(&lock.to_text()).expect("what was written is read");
        let set = Schema::decode(converted.complete_descriptor_set(), &SchemaLimits::default()).expect("sound");
        let input = set.message(converted.input_type()).expect("there");
        let limits = MessageLimits::default();
        properties
            .as_object()
            .expect("properties")
            .iter()
            .map(|(outer, object)| {
                let keys = object["properties"].as_object().expect("properties").keys();
                let keys = keys.map(|key| {
                    let json = json!({outer: {key: true}}).to_string();
                    (format!("{outer}.{key}"), input.parse_json(&json, &limits).expect("it fits").encode())
                });
                keys.collect::<Vec<_>>()
            })
            .flat_map(Vec::into_iter)
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let flag = json!({"type": "boolean"});
    let first = json!({"properties": {"x": flag, "y": flag}});
    let second = json!({"properties": {"y": flag, "z": flag}});
    let before = numbers(json!({"a_b": first, "aB": second}));
    assert_eq!(before.len(), 4);
    assert_eq!(numbers(json!({"aB": second, "a_b": first})), before, "the order of properties does not matter");
    let alone = numbers(json!({"aB": second}));
    assert!(alone.iter().all(|(key, bytes)| before[key] == *bytes), "{alone:?}");
    assert_eq!(numbers(json!({"a_b": first, "aB": second})), before, "a property that returns");
}

#[test]
fn broken_lock_files_are_refused() {
    for text in [
        "",
        "[]",
        r#"{"messages":{"M":{"a":0}}}"#,
        r#"{"messages":{"M":{"a":1,"b":1}}}"#,
        r#"{"messages":{"M":{"a":19000}}}"#,
        r#"{"messages":{},"names":{"M":{"/a":"X","/b":"X"}}}"#,
        r#"{"messages":{},"names":{"M":{"/a":"X { }"}}}"#,
    ] {
        assert!(FieldLock::parse(text).is_err(), "{text}");
    }
}
