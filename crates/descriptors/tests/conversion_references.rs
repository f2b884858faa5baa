//! References of JSON Schema as messages, also those inside themselves, and the names of files.

use protomcp_descriptors::convert::{Converter, FieldLock, Style, Verdict::Lossless, to_json_schema};
use protomcp_descriptors::{MessageLimits, Schema, SchemaLimits};
use serde_json::{Value, json};

use crate::conversion::{convert, verdict};

#[test]
fn recursion_becomes_its_own_message() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}, "self": {"$ref": "#"}},
        "$defs": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
    });
    let converted = convert(Style::Strict, &schema);
    assert_eq!(verdict(&converted), Lossless, "{:?}", converted.report());
    let set = Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
    let message = set.message(converted.input_type()).expect("there");
    let limits = MessageLimits::default();
    message.parse_json(r#"{"tree":{"children":[{"children":[]},{}]},"self":{"self":{}}}"#, &limits).expect("a tree");
    let back = to_json_schema(&message).expect("it is small");
    assert_eq!(back["properties"]["tree"]["$ref"], "#/$defs/acme.tools.v1.WebSearchRequestNode");
    assert_eq!(back["properties"]["self"]["$ref"], "#/$defs/acme.tools.v1.WebSearchRequest");
}

#[test]
fn maps_and_lists_inside_themselves_are_any_value() {
    let map = |inner: Value| json!({"type": "object", "additionalProperties": inner});
    let own = || json!({"$ref": "#/$defs/a"});
    for (definitions, types) in [
        (json!({"a": map(own())}), "map<string, google.protobuf.Struct> a"),
        (json!({"a": {"type": "array", "items": own()}}), "google.protobuf.ListValue a"),
        (json!({"a": map(json!({"$ref": "#/$defs/b"})), "b": map(own())}), "google.protobuf.Struct a"),
        (json!({"a": {"oneOf": [{"type": "null"}, own()]}}), "google.protobuf.Value a"),
        (json!({"a": map(json!({"anyOf": [own(), {"type": "null"}]}))}), "google.protobuf.Struct a"),
    ] {
        let schema =
            json!({"type": "object", "properties": {"a": own(), "b": {"type": "string"}}, "$defs": definitions});
        let converted = convert(Style::Strict, &schema);
        assert_ne!(verdict(&converted), Lossless, "{schema}");
        assert!(converted.text().contains(types), "{schema}: {}", converted.text());
        Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
    }
}

#[test]
fn each_reference_to_an_object_that_may_be_null_allows_null() {
    let own = || json!({"$ref": "#/$defs/node"});
    let node = |kind: Value| json!({"type": kind, "properties": {"next": own()}, "required": ["next"]});
    let marked = {
        let mut node = node(json!("object"));
        node["nullable"] = json!(true);
        node
    };
    for definition in [
        node(json!(["object", "null"])),
        marked,
        json!({"anyOf": [node(json!("object")), {"type": "null"}]}),
        json!({"allOf": [node(json!(["object", "null"])), {"minProperties": 0}]}),
    ] {
        let list = json!({"type": "array", "items": own()});
        let schema = json!({
            "type": "object",
            "properties": {"a": own(), "b": own(), "c": list, "d": list},
            "required": ["a", "b"],
            "$defs": {"node": definition},
        });
        let text = convert(Style::Strict, &schema).text();
        assert!(!text.contains("required"), "{definition}: {text}");
        assert_eq!(text.matches("repeated google.protobuf.Value").count(), 2, "{definition}: {text}");
    }
}

#[test]
fn references_are_decoded_as_fragments_of_a_uri() {
    for (reference, name) in [
        ("#/$defs/%C3%BC", "ü"),
        ("#/%24defs/a", "a"),
        ("#/$defs/a%7E1b", "a/b"),
        ("#/$defs/x%20y", "x y"),
        ("#/$defs/x%2520y", "x%20y"),
        ("#/$defs/a%2Fb", "a"),
    ] {
        let definitions = json!({name: {"type": "string", "b": {"type": "string"}}});
        let by = json!({"$ref": reference});
        let schema = json!({"type": "object", "properties": {"q": by, "r": {"allOf": [by]}}, "$defs": definitions});
        let text = convert(Style::Strict, &schema).text();
        assert!(text.contains("string q = 1") && text.contains("string r = 2"), "{reference}: {text}");
        let root = json!({"$ref": "#/$defs/%C3%BC", "$defs": {"ü": {"type": "object", "properties": {"q": by}}, name: {"type": "string"}}});
        assert!(name == "ü" || convert(Style::Strict, &root).text().contains("q = 1"), "{reference}");
    }
}

#[test]
fn long_names_of_tools_make_names_of_files() {
    let schema = json!({"type": "object"});
    let name = |tool: &str| {
        let mut lock = FieldLock::default();
        let converter = Converter::new("acme").expect("a package");
        converter.convert(tool, &schema, None, &mut lock).expect("an object").file_name()
    };
    let (one, other) = (name(&"a".repeat(300)), name(&format!("{}b", "a".repeat(299))));
    assert!(one.len() == "acme/".len() + 255 && one.ends_with(".proto") && one != other, "{one} {other}");
    for (length, is_kept) in [(101, true), (240, true), (249, true), (250, false)] {
        let stem = "a".repeat(length);
        assert_eq!(name(&stem) == format!("acme/{stem}.proto"), is_kept, "{length}");
    }
}
