//! JSON Schema to protobuf, as tables of texts.

use protomcp_descriptors::convert::{Converted, Converter, FieldLock, Loss, Style, Verdict, to_json_schema};
use protomcp_descriptors::{MessageLimits, Schema, SchemaLimits};
use serde_json::{Value, json};

use Verdict::{Fallback, Lossless, Lossy};

pub(crate) fn convert(style: Style, schema: &Value) -> Converted {
    let converter = Converter::new("acme.tools.v1").expect("a package").style(style);
    converter
        .convert("web_search", schema, None, &mut FieldLock::default())
        .unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// The field of a property, as the strict style writes it, and the worst loss.
fn field(property: &Value) -> (String, Verdict) {
    let schema = json!({"type": "object", "properties": {"a": property}});
    let converted = convert(Style::Strict, &schema);
    let text = converted.message_text(converted.input_type()).expect("the input is there");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    (lines[1..lines.len() - 1].join(" "), verdict(&converted))
}

/// The worst loss, but for the losses of optional values: [`values_that_are_missing_ones_are_reported`].
pub(crate) fn verdict(converted: &Converted) -> Verdict {
    let losses = converted.report().losses().iter().filter(|loss| !is_of_presence(loss));
    losses.map(|loss| loss.verdict).max().unwrap_or(Lossless)
}

/// True for a list, a map or a null that is the same as a missing value.
fn is_of_presence(loss: &Loss) -> bool {
    loss.keyword == "type" && loss.reason.ends_with("are the same")
}

#[test]
fn values_that_are_missing_ones_are_reported() {
    for (property, reason) in [
        (json!({"type": "array", "items": {"type": "string"}}), Some("an empty list or map and a missing one")),
        (json!({"type": "object", "additionalProperties": {"type": "integer"}}), Some("an empty list or map")),
        (json!({"type": ["string", "null"]}), Some("null and a missing value")),
        (json!({"type": ["array", "null"], "items": {"type": "string"}}), Some("null and a missing value")),
        (json!({"type": "string"}), None),
        (json!({}), None),
    ] {
        let schema = json!({"type": "object", "properties": {"a": property}});
        let converted = convert(Style::Strict, &schema);
        let found: Vec<_> = converted.report().losses().iter().filter(|loss| is_of_presence(loss)).collect();
        assert_eq!(found.len(), usize::from(reason.is_some()), "{property}: {found:?}");
        assert!(reason.is_none_or(|reason| found[0].reason.starts_with(reason)), "{property}: {found:?}");
    }
}

/// The schema of the specification's example.
fn example() -> Value {
    json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "max_results": {"type": "integer", "minimum": 1}},
        "required": ["query"],
    })
}

#[test]
fn the_example_of_the_specification_comes_out_as_printed() {
    let converted = convert(Style::Seed, &example());
    let expected = "\
message WebSearchRequest {
  string query = 1;
  optional int32 max_results = 2 [(buf.validate.field).int32.gte = 1];
}
";
    assert_eq!(converted.message_text("acme.tools.v1.WebSearchRequest").as_deref(), Some(expected));
    assert_eq!(converted.report().verdict(), Lossy, "a missing query goes unnoticed");
}

#[test]
fn the_strict_style_loses_nothing_of_it() {
    let converted = convert(Style::Strict, &example());
    let expected = "\
syntax = \"proto3\";

package acme.tools.v1;

import \"buf/validate/validate.proto\";

message WebSearchRequest {
  optional string query = 1 [(buf.validate.field).required = true];
  optional int64 max_results = 2 [
    json_name = \"max_results\",
    (buf.validate.field).int64.gte = 1
  ];
}
";
    assert_eq!(converted.text(), expected);
    assert_eq!(converted.report().verdict(), Lossless);
    assert_eq!(converted.file_name(), "acme/tools/v1/web_search.proto");
}

/// The prefix of rules of fields.
const RULE: &str = "(buf.validate.field)";

fn check_fields<const N: usize>(table: [(Value, String, Verdict); N]) {
    for (property, expected, verdict) in table {
        assert_eq!(field(&property), (expected, verdict), "{property}");
    }
}

#[test]
fn texts_have_their_rules() {
    check_fields([
        (json!({"type": "string"}), "optional string a = 1;".to_owned(), Lossless),
        (
            json!({"type": "string", "minLength": 2}),
            format!("optional string a = 1 [{RULE}.string.min_len = 2];"),
            Lossless,
        ),
        (
            json!({"type": "string", "pattern": "^\\d+$"}),
            format!("optional string a = 1 [{RULE}.string.pattern = \"^\\\\d+$\"];"),
            Lossless,
        ),
        (json!({"type": "string", "pattern": "(?=a)"}), "optional string a = 1;".to_owned(), Lossy),
        (
            json!({"type": "string", "format": "email"}),
            format!("optional string a = 1 [{RULE}.string.email = true];"),
            Lossless,
        ),
        (json!({"type": "string", "format": "date-time"}), "optional string a = 1;".to_owned(), Lossy),
        (json!({"type": ["string", "null"]}), "optional string a = 1;".to_owned(), Lossless),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "optional string a = 1;".to_owned(), Lossless),
        (
            json!({"enum": ["x", "y"]}),
            format!("optional string a = 1 [ {RULE}.string.in = \"x\", {RULE}.string.in = \"y\" ];"),
            Lossless,
        ),
        (json!({"const": "x"}), format!("optional string a = 1 [{RULE}.string.const = \"x\"];"), Lossless),
        (
            json!({"enum": [1, 2]}),
            format!("optional int32 a = 1 [ {RULE}.int32.in = 1, {RULE}.int32.in = 2 ];"),
            Lossless,
        ),
        (json!({"enum": [1, "x"]}), "google.protobuf.Value a = 1;".to_owned(), Fallback),
    ]);
}

#[test]
fn numbers_have_their_types_and_rules() {
    check_fields([
        (json!({"type": "integer"}), "optional int64 a = 1;".to_owned(), Lossless),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 100}),
            format!("optional int32 a = 1 [ {RULE}.int32.gte = 1, {RULE}.int32.lte = 100 ];"),
            Lossless,
        ),
        (
            json!({"type": "integer", "minimum": 0, "maximum": 4_294_967_295_u64}),
            "optional uint32 a = 1;".to_owned(),
            Lossless,
        ),
        (
            json!({"type": "integer", "minimum": 0, "maximum": 18_446_744_073_709_551_615_u64}),
            "optional uint64 a = 1;".to_owned(),
            Lossless,
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 0}),
            format!("optional int64 a = 1 [{RULE}.int64.gte = 1];"),
            Lossless,
        ),
        (json!({"type": "integer", "minimum": 0.5}), format!("optional int64 a = 1 [{RULE}.int64.gte = 1];"), Lossless),
        (json!({"type": "integer", "minimum": 5, "maximum": 1}), "optional int32 a = 1;".to_owned(), Lossy),
        (
            json!({"type": "integer", "enum": [1.0, 2]}),
            format!("optional int32 a = 1 [ {RULE}.int32.in = 1, {RULE}.int32.in = 2 ];"),
            Lossless,
        ),
        (json!({"type": "integer", "const": 1.0}), format!("optional int32 a = 1 [{RULE}.int32.in = 1];"), Lossless),
        (json!({"type": "number"}), format!("optional double a = 1 [{RULE}.double.finite = true];"), Lossless),
        (
            json!({"type": "number", "exclusiveMinimum": 0}),
            format!("optional double a = 1 [ {RULE}.double.gt = 0.0, {RULE}.double.finite = true ];"),
            Lossless,
        ),
    ]);
}

#[test]
fn lists_objects_and_any_values_have_their_fields() {
    check_fields([
        (json!({"type": "boolean"}), "optional bool a = 1;".to_owned(), Lossless),
        (json!({"type": "null"}), "optional google.protobuf.NullValue a = 1;".to_owned(), Lossless),
        (json!({}), "google.protobuf.Value a = 1;".to_owned(), Lossless),
        (json!(true), "google.protobuf.Value a = 1;".to_owned(), Lossless),
        (json!({"type": ["string", "number"]}), "google.protobuf.Value a = 1;".to_owned(), Fallback),
        (json!({"type": "object"}), "google.protobuf.Struct a = 1;".to_owned(), Lossless),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "map<string, string> a = 1;".to_owned(),
            Lossless,
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "array"}}),
            "google.protobuf.Struct a = 1;".to_owned(),
            Fallback,
        ),
        (
            json!({"type": "object", "properties": {"b": {}}, "additionalProperties": true}),
            "google.protobuf.Struct a = 1;".to_owned(),
            Fallback,
        ),
        (json!({"type": "object", "properties": {"b": {}}}), "WebSearchRequestA a = 1;".to_owned(), Lossless),
        (json!({"type": "array", "items": {"type": "string"}}), "repeated string a = 1;".to_owned(), Lossless),
        (json!({"type": "array"}), "repeated google.protobuf.Value a = 1;".to_owned(), Lossless),
        (
            json!({"type": "array", "items": {"type": "array"}}),
            "repeated google.protobuf.ListValue a = 1;".to_owned(),
            Fallback,
        ),
        (json!({"type": "array", "prefixItems": [{}]}), "google.protobuf.ListValue a = 1;".to_owned(), Fallback),
        (
            json!({"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 4, "uniqueItems": true}),
            format!(
                "repeated string a = 1 [ {RULE}.repeated.items.string.max_len = 3, {RULE}.repeated.max_items = 4, {RULE}.repeated.unique = true ];"
            ),
            Lossless,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            format!("repeated string a = 1 [ {RULE}.repeated.min_items = 1, {RULE}.ignore = IGNORE_IF_ZERO_VALUE ];"),
            Lossy,
        ),
    ]);
}

#[test]
fn references_and_combinations_are_followed_or_reported() {
    check_fields([
        (json!({"$ref": "#/$defs/missing"}), "google.protobuf.Value a = 1;".to_owned(), Fallback),
        (json!({"$ref": "other.json"}), "google.protobuf.Value a = 1;".to_owned(), Fallback),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "object"}]}),
            "google.protobuf.Value a = 1;".to_owned(),
            Fallback,
        ),
        (
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
            format!("optional string a = 1 [{RULE}.string.min_len = 1];"),
            Lossless,
        ),
        (
            json!({"allOf": [{"$ref": "#/properties/a/$defs/b", "minLength": 3}], "$defs": {"b": {"type": "string"}}}),
            format!("optional string a = 1 [{RULE}.string.min_len = 3];"),
            Lossless,
        ),
        (json!({"type": "string", "not": {"const": "x"}}), "optional string a = 1;".to_owned(), Lossy),
    ]);
}

/// The keywords of the report on a property, in the order of the schema.
fn reported(style: Style, property: &Value) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"a": property}});
    let converted = convert(style, &schema);
    let losses = converted.report().losses().iter().filter(|loss| !is_of_presence(loss));
    losses.map(|loss| loss.keyword.clone()).collect()
}

#[test]
fn keywords_without_a_rule_are_reported() {
    for (property, expected) in [
        (json!({"type": "string", "minimum": 3, "x-hint": 1, "title": "t", "readOnly": true}), &[][..]),
        (json!({"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "a"}]}), &["anyOf"]),
        (json!({"type": "string", "oneOf": [{"const": "a"}, {"const": "b"}]}), &[]),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "minimum": 1}), &["minimum"]),
        (json!({"type": "string", "enum": ["a", "bb"], "minLength": 2}), &["minLength"]),
        (json!({"type": "string", "enum": ["a", 1]}), &[]),
        (json!({"type": "integer", "enum": ["a"]}), &["enum"]),
        (json!({"type": "boolean", "if": {"const": true}, "then": false}), &["if"]),
        (
            json!({"type": "array", "items": {}, "contains": {"const": 1}, "minContains": 2}),
            &["contains", "minContains"],
        ),
        (json!({"type": "array", "items": false}), &["items"]),
        (json!({"type": "object", "required": ["k"], "minProperties": 1}), &["required", "minProperties"]),
        (json!({"type": "object", "additionalProperties": {"type": "string"}, "required": ["k"]}), &["required"]),
        (json!({"type": "object", "properties": {"b": {}}, "patternProperties": {"^x": {}}}), &["patternProperties"]),
        (
            json!({"type": "object", "properties": {"b": {}}, "if": {"required": ["b"]}, "dependentSchemas": {"b": false}}),
            &["if", "dependentSchemas"],
        ),
        (json!({"properties": {"b": {}}}), &["type"]),
        (json!({"$ref": "#/properties/a/$defs/t", "minLength": 1, "$defs": {"t": {"type": "string"}}}), &["minLength"]),
        (json!({"allOf": [{"allOf": [{"type": "string"}]}]}), &["type"]),
        (json!({"type": "string", "allOf": [{"$ref": "#/$defs/none"}]}), &["allOf"]),
        (json!({"type": "integer", "maximum": 1e20, "minimum": -5}), &["type"]),
        (json!({"type": "integer", "minimum": 1e25}), &["minimum"]),
        (json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}), &["exclusiveMinimum"]),
        (json!({"type": "integer", "multipleOf": 0.5}), &["multipleOf"]),
        (json!({"type": "number", "multipleOf": 2}), &["multipleOf"]),
        (json!({"type": "string", "pattern": "a(b"}), &["pattern"]),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"not": {"const": "x"}}}),
            &["not"],
        ),
        (json!(false), &["false"]),
    ] {
        assert_eq!(reported(Style::Strict, &property), expected, "{property}");
    }
}

#[test]
fn the_seed_style_reports_what_it_changes() {
    let schema = json!({
        "type": "object",
        "properties": {"max_results": {"type": "integer"}, "per-page": {"type": "string"}, "ids": {"enum": [1, 3_000_000_000_u64]}},
        "required": ["per-page"],
    });
    let converted = convert(Style::Seed, &schema);
    let found: Vec<_> =
        converted.report().losses().iter().map(|loss| (loss.pointer.as_str(), loss.keyword.as_str())).collect();
    let expected = [
        ("/properties/max_results", "type"),
        ("/properties/per-page", "required"),
        ("/properties/ids", "enum"),
        ("/properties/max_results", "properties"),
    ];
    assert_eq!(found, expected);
    let text = converted.text();
    assert!(text.contains("string per_page = 2 [json_name = \"per-page\"];"), "odd keys survive: {text}");
}

/// Also where the JSON name that follows from the name of one field is the key of another one.
#[test]
fn fields_of_one_message_have_different_json_names() {
    for (keys, changed) in [(["fooBar", "foo_bar"], 0), (["[foo_bar]", "fooBar"], 1)] {
        let schema =
            json!({"type": "object", "properties": {keys[0]: {"type": "string"}, keys[1]: {"type": "string"}}});
        for style in [Style::Strict, Style::Seed] {
            let converted = convert(style, &schema);
            let set = Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
            let again = to_json_schema(&set.message(converted.input_type()).expect("the input is there"));
            let names = again.expect("it has a JSON Schema")["properties"].as_object().expect("an object").clone();
            let kept = keys.iter().filter(|key| names.contains_key(**key)).count();
            assert_eq!((names.len(), kept), (2, 2 - changed), "{style:?} {names:?}");
        }
    }
}

#[test]
fn the_keys_of_maps_have_rules() {
    let (text, verdict) = field(&json!({
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 0},
        "propertyNames": {"pattern": "^[a-z]+$", "enum": ["a", "b"]},
        "maxProperties": 2,
    }));
    let expected = format!(
        "map<string, int64> a = 1 [ {RULE}.map.values.int64.gte = 0, {RULE}.map.max_pairs = 2, \
         {RULE}.map.keys.string.pattern = \"^[a-z]+$\", {RULE}.map.keys.string.in = \"a\", {RULE}.map.keys.string.in = \"b\" ];"
    );
    assert_eq!((text, verdict), (expected, Lossless));
}

#[test]
fn fields_that_need_others_are_expressions() {
    let schema = |names: [&str; 2]| {
        json!({
            "type": "object",
            "properties": {names[0]: {"type": "string"}, names[1]: {"type": "string"}},
            "dependentRequired": {names[0]: [names[1]]},
        })
    };
    let converted = convert(Style::Strict, &schema(["from", "to"]));
    assert!(converted.text().contains(r#"expression: "!has(this.from) || has(this.to)""#), "{}", converted.text());
    assert_eq!(converted.report().verdict(), Lossless);
    // A reserved word of CEL is not a selector.
    assert_eq!(convert(Style::Strict, &schema(["in", "to"])).report().verdict(), Lossy);
}

#[test]
fn whole_divisors_are_expressions() {
    let (text, verdict) = field(&json!({"type": "integer", "multipleOf": 5}));
    assert!(text.contains(r#"expression: "this % 5 == 0""#), "{text}");
    assert_eq!(verdict, Lossless);
}

#[test]
fn odd_keys_survive() {
    let keys = ["per-page", "$ref", "maxResults", "max_results", "2fa", "ä", "", "a b", "a.b", "class", "_x", "\"\\\n"];
    let properties: serde_json::Map<_, _> =
        keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
    let converted = convert(Style::Strict, &json!({"type": "object", "properties": properties}));
    let schema = Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
    let message = schema.message(converted.input_type()).expect("the input is there");
    let limits = MessageLimits::default();
    for key in keys {
        let json = json!({key: "x"}).to_string();
        let read = message.parse_json(&json, &limits).unwrap_or_else(|error| panic!("{key}: {error}"));
        assert_eq!(read.to_json(Default::default(), &limits).as_deref(), Ok(json.as_str()));
    }
}

#[test]
fn comments_reach_the_descriptors_and_come_back() {
    let schema = json!({
        "type": "object",
        "description": "Searches.",
        "properties": {"q": {"type": "string", "description": "The query.\u{202e}\nTwo lines.\u{2066} */", "default": "x"}},
    });
    let converted = convert(Style::Strict, &schema);
    assert!(
        converted.text().contains("  // The query.\n  // Two lines. */\n  // Default: \"x\"\n"),
        "{}",
        converted.text()
    );
    let set = Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
    let back = to_json_schema(&set.message(converted.input_type()).expect("there")).expect("it is small");
    assert_eq!(back["description"], "Searches.");
    assert_eq!(back["properties"]["q"]["description"], "The query.\nTwo lines. */\nDefault: \"x\"");
}

#[test]
fn the_output_is_a_message_of_the_same_file() {
    let converter = Converter::new("p").expect("a package");
    let output = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let converted = converter.convert("t", &json!({}), Some(&output), &mut FieldLock::default()).expect("objects");
    assert_eq!((converted.input_type(), converted.output_type()), ("p.TRequest", Some("p.TResponse")));
    let set = Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
    assert_eq!(set.default_input().expect("there").full_name(), "p.TRequest");
}
