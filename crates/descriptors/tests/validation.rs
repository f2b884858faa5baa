//! Rules of `buf.validate`: each kind with a message that satisfies it and one that violates it, by path and id.

use prost_protovalidate::types::DESCRIPTOR_POOL;
use protomcp_descriptors::convert::to_json_schema;
use protomcp_descriptors::{
    EntryPart, Message, MessageLimits, Protovalidate, Schema, SchemaError, SchemaLimits, ValidationError, Validator,
};
use protox::file::{ChainFileResolver, DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver};

/// The tool of the specification's example, with the import that it lacks.
const SEARCH: &str = r#"
    syntax = "proto3";
    package acme.tools.v1;
    import "buf/validate/validate.proto";
    message WebSearchRequest {
      string query = 1 [(buf.validate.field).string.min_len = 1];
      int32 max_results = 2 [(buf.validate.field).int32.gte = 1, (buf.validate.field).int32.lte = 100];
    }
    message LenientSearchRequest {
      string query = 1 [(buf.validate.field).string.min_len = 1];
      optional int32 max_results = 2 [(buf.validate.field).int32 = { gte: 1, lte: 100 }];
    }
"#;

const RULES: &str = r#"
    syntax = "proto3";
    package rules.v1;
    import "buf/validate/validate.proto";
    import "google/protobuf/any.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; }
    message MinLen { string a = 1 [(buf.validate.field).string.min_len = 2]; }
    message Range { double a = 1 [(buf.validate.field).double = { gt: 0, lt: 1 }]; }
    message In { string a = 1 [(buf.validate.field).string = { in: ["x", "y"] }]; }
    message Pattern { string a = 1 [(buf.validate.field).string.pattern = "^[a-z]+$"]; }
    message Email { string a = 1 [(buf.validate.field).string.email = true]; }
    message Items {
      repeated string a = 1 [(buf.validate.field).repeated = { min_items: 1, unique: true, items: { string: { max_len: 3 } } }];
    }
    message Map {
      map<string, int32> a = 1 [(buf.validate.field).map = { keys: { string: { min_len: 2 } }, values: { int32: { gt: 0 } } }];
    }
    message Enum { Color a = 1 [(buf.validate.field).enum = { defined_only: true, not_in: [0] }]; }
    message Oneof { oneof choice { option (buf.validate.oneof).required = true; string a = 1; string b = 2; } }
    message Required { Pattern a = 1 [(buf.validate.field).required = true]; }
    message Cel {
      option (buf.validate.message).cel = { id: "range.order", message: "low before high", expression: "this.low <= this.high" };
      int64 low = 1;
      int64 high = 2;
    }
    message FieldCel {
      int32 a = 1 [(buf.validate.field).cel = { id: "even", expression: "this % 2 == 0 ? '' : 'must be even'" }];
    }
    message Broken {
      int32 a = 1 [(buf.validate.field).cel = { id: "broken", expression: "this +" }];
    }
    message Zero { string a = 1 [(buf.validate.field).string.min_len = 2, (buf.validate.field).ignore = IGNORE_IF_ZERO_VALUE]; }
    message Nested { repeated MinLen inner = 1; }
    message Prefix { string a = 1 [(buf.validate.field).string.prefix = "abc"]; }
    message NotIn { string a = 1 [(buf.validate.field).string.not_in = "x"]; }
    message LenBytes { string a = 1 [(buf.validate.field).string.len_bytes = 3]; }
    message Header { string a = 1 [(buf.validate.field).string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_NAME]; }
    message Raw { bytes a = 1 [(buf.validate.field).bytes.min_len = 2]; }
    message NotTwo { optional int32 a = 1 [(buf.validate.field).int32.not_in = 2]; }
    message Outside { optional int32 a = 1 [(buf.validate.field).int32 = { lt: 1, gt: 5 }]; }
    message Doubles { optional double a = 1 [(buf.validate.field).double = { in: [0.5] }]; }
    message Time { google.protobuf.Timestamp a = 1 [(buf.validate.field).timestamp.lt.seconds = 5]; }
    message Span { google.protobuf.Duration a = 1 [(buf.validate.field).duration.gte.seconds = 5]; }
    message AnyOf { google.protobuf.Any a = 1 [(buf.validate.field).any.in = "x/rules.v1.In"]; }
    message Wrapped { google.protobuf.StringValue a = 1 [(buf.validate.field).string.min_len = 2]; }
    message RequiredText { string a = 1 [(buf.validate.field).required = true]; }
    message RequiredList { repeated string a = 1 [(buf.validate.field).required = true]; }
    message RequiredMap { map<string, string> a = 1 [(buf.validate.field).required = true]; }
    message RequiredNumber { int32 a = 1 [(buf.validate.field).required = true]; }
    message RequiredChoice { Color a = 1 [(buf.validate.field).required = true]; }
    message ItemCel { repeated int32 a = 1 [(buf.validate.field).repeated.items.cel = { id: "even", expression: "this % 2 == 0" }]; }
"#;

struct Sources(&'static str);

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "test.proto" => File::from_source(name, self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

fn compile(source: &'static str) -> Vec<u8> {
    let mut files = ChainFileResolver::new();
    files.add(Sources(source));
    files.add(GoogleFileResolver::new());
    let known = DescriptorSetFileResolver::decode(DESCRIPTOR_POOL.encode_to_vec().as_slice()).expect("a sound set");
    files.add(known);
    let mut compiler = protox::Compiler::with_file_resolver(files);
    compiler.include_imports(true).open_file("test.proto").expect("the source compiles");
    compiler.encode_file_descriptor_set()
}

fn schema(source: &'static str) -> Schema {
    Schema::decode(compile(source), &SchemaLimits::default()).expect("the set is sound")
}

fn read(schema: &Schema, name: &str, json: &str) -> Message {
    let message = schema.message(name).unwrap_or_else(|| panic!("{name} is there"));
    message.parse_json(json, &MessageLimits::default()).unwrap_or_else(|error| panic!("{name} {json}: {error}"))
}

/// Field and rule id of each violation.
fn violations(schema: &Schema, name: &str, json: &str) -> Vec<(String, String)> {
    match Protovalidate::new(schema).validate(&read(schema, name, json)) {
        Ok(()) => Vec::new(),
        Err(ValidationError::Violations(found)) => found.into_iter().map(|v| (v.field, v.rule_id)).collect(),
        Err(error) => panic!("{name} {json}: {error}"),
    }
}

/// A message, a value that satisfies its rules and one that violates them, with the field and the id of the rule.
const CASES: &[(&str, &str, &str, &str, &str)] = &[
    ("MinLen", r#"{"a":"äß"}"#, r#"{"a":"ä"}"#, "a", "string.min_len"),
    ("Range", r#"{"a":0.5}"#, r#"{"a":1}"#, "a", "double.gt_lt"),
    ("In", r#"{"a":"y"}"#, r#"{"a":"z"}"#, "a", "string.in"),
    ("Pattern", r#"{"a":"abc"}"#, r#"{"a":"a1"}"#, "a", "string.pattern"),
    ("Email", r#"{"a":"a@example.com"}"#, r#"{"a":"a"}"#, "a", "string.email"),
    ("Items", r#"{"a":["x"]}"#, "{}", "a", "repeated.min_items"),
    ("Items", r#"{"a":["x","y"]}"#, r#"{"a":["x","x"]}"#, "a", "repeated.unique"),
    ("Items", r#"{"a":["x","y"]}"#, r#"{"a":["x","long"]}"#, "a[1]", "string.max_len"),
    ("Map", r#"{"a":{"xy":1}}"#, r#"{"a":{"xy":0}}"#, r#"a["xy"]"#, "int32.gt"),
    ("Enum", r#"{"a":"COLOR_RED"}"#, r#"{"a":7}"#, "a", "enum.defined_only"),
    ("Enum", r#"{"a":"COLOR_RED"}"#, "{}", "a", "enum.not_in"),
    ("Oneof", r#"{"a":""}"#, "{}", "choice", "required"),
    ("Required", r#"{"a":{"a":"x"}}"#, "{}", "a", "required"),
    ("Cel", r#"{"low":1,"high":2}"#, r#"{"low":2,"high":1}"#, "", "range.order"),
    ("FieldCel", r#"{"a":2}"#, r#"{"a":1}"#, "a", "even"),
    ("Zero", "{}", r#"{"a":"x"}"#, "a", "string.min_len"),
    ("Nested", r#"{"inner":[{"a":"xy"}]}"#, r#"{"inner":[{"a":"xy"},{"a":"x"}]}"#, "inner[1].a", "string.min_len"),
    ("Prefix", r#"{"a":"abcd"}"#, r#"{"a":"ab"}"#, "a", "string.prefix"),
    ("NotIn", r#"{"a":"y"}"#, r#"{"a":"x"}"#, "a", "string.not_in"),
    ("LenBytes", r#"{"a":"abc"}"#, r#"{"a":"ab"}"#, "a", "string.len_bytes"),
    ("Header", r#"{"a":"x-y"}"#, r#"{"a":"x y"}"#, "a", "string.well_known_regex.header_name"),
    ("Raw", r#"{"a":"AAEC"}"#, r#"{"a":"AA=="}"#, "a", "bytes.min_len"),
    ("NotTwo", r#"{"a":1}"#, r#"{"a":2}"#, "a", "int32.not_in"),
    ("Outside", r#"{"a":6}"#, r#"{"a":3}"#, "a", "int32.gt_lt_exclusive"),
    ("Doubles", r#"{"a":0.5}"#, r#"{"a":1}"#, "a", "double.in"),
    ("Time", r#"{"a":"1970-01-01T00:00:01Z"}"#, r#"{"a":"1970-01-01T00:00:09Z"}"#, "a", "timestamp.lt"),
    ("Span", r#"{"a":"9s"}"#, r#"{"a":"1s"}"#, "a", "duration.gte"),
    ("AnyOf", r#"{"a":{"@type":"x/rules.v1.In"}}"#, r#"{"a":{"@type":"x/rules.v1.Map"}}"#, "a", "any.in"),
    ("Wrapped", r#"{"a":"xy"}"#, r#"{"a":"x"}"#, "a", "string.min_len"),
    ("RequiredText", r#"{"a":"x"}"#, r#"{"a":""}"#, "a", "required"),
    ("RequiredText", r#"{"a":"x"}"#, "{}", "a", "required"),
    ("RequiredList", r#"{"a":["x"]}"#, r#"{"a":[]}"#, "a", "required"),
    ("RequiredMap", r#"{"a":{"x":"y"}}"#, r#"{"a":{}}"#, "a", "required"),
    ("RequiredNumber", r#"{"a":1}"#, r#"{"a":0}"#, "a", "required"),
    ("RequiredChoice", r#"{"a":"COLOR_RED"}"#, r#"{"a":"COLOR_UNSPECIFIED"}"#, "a", "required"),
    ("ItemCel", r#"{"a":[2]}"#, r#"{"a":[1]}"#, "a[0]", "even"),
    ("Pattern", r#"{"a":"x"}"#, "{}", "a", "string.pattern"),
    ("Range", r#"{"a":0.5}"#, "{}", "a", "double.gt_lt"),
    ("Prefix", r#"{"a":"abcd"}"#, "{}", "a", "string.prefix"),
    ("Raw", r#"{"a":"AAEC"}"#, "{}", "a", "bytes.min_len"),
];

#[test]
fn json_schemas_express_or_name_each_rule() {
    let rules = schema(RULES);
    for (name, good, bad, _, _) in CASES {
        let message = rules.message(&format!("rules.v1.{name}")).expect("there");
        let made = to_json_schema(&message).expect("it is small");
        let validator =
            jsonschema::draft202012::options().should_validate_formats(true).build(&made).expect("a schema");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert!(validator.is_valid(&read(good)), "{name} {good}: {made}");
        let is_numeric = *name == "Enum" && bad.contains('7');
        assert!(
            is_numeric || !validator.is_valid(&read(bad)) || made.to_string().contains("Rule: "),
            "{name} {bad}: {made}"
        );
    }
    let text = |name: &str| to_json_schema(&rules.message(name).expect("there")).expect("it is small").to_string();
    for (name, words) in [
        ("rules.v1.Prefix", r#"Rule: string.prefix = \"abc\""#),
        ("rules.v1.Outside", "Rule: less than 1, or more than 5"),
        ("rules.v1.Doubles", "Rule: double.in = 0.5"),
        ("rules.v1.Time", "Rule: timestamp.lt = 5 s 0 ns"),
    ] {
        assert!(text(name).contains(words), "{name}: {}", text(name));
    }
}

#[test]
fn each_kind_of_rule_accepts_and_refuses() {
    let rules = schema(RULES);
    for (name, good, bad, field, rule) in CASES {
        let full_name = format!("rules.v1.{name}");
        assert_eq!(violations(&rules, &full_name, good), [], "{name} {good}");
        assert_eq!(violations(&rules, &full_name, bad), [((*field).to_owned(), (*rule).to_owned())], "{name} {bad}");
    }
}

#[test]
fn the_key_of_an_entry_is_told_from_its_value() {
    let rules = schema(RULES);
    let message = read(&rules, "rules.v1.Map", r#"{"a":{"x":1}}"#);
    let Err(ValidationError::Violations(found)) = Protovalidate::new(&rules).validate(&message) else {
        panic!("the key is too short");
    };
    assert_eq!((found.len(), found[0].part), (1, EntryPart::Key));
    assert!(found[0].to_string().starts_with(r#"a["x"]: "#), "{}", found[0]);
}

#[test]
fn the_call_of_the_specification_violates_its_own_schema() {
    let search = schema(SEARCH);
    let strict = "acme.tools.v1.WebSearchRequest";
    let failed = violations(&search, strict, r#"{"query":"protobuf"}"#);
    assert_eq!(failed, [("max_results".to_owned(), "int32.gte_lte".to_owned())]);
    assert_eq!(violations(&search, strict, r#"{"query":"protobuf","maxResults":10}"#), []);
    // A field with presence is only checked when it is set.
    assert_eq!(violations(&search, "acme.tools.v1.LenientSearchRequest", r#"{"query":"protobuf"}"#), []);
}

#[test]
fn broken_rules_are_an_error_of_the_schema() {
    let rules = schema(RULES);
    let found = Protovalidate::new(&rules).validate(&read(&rules, "rules.v1.Broken", r#"{"a":1}"#));
    assert!(matches!(found, Err(ValidationError::Rules(_))), "{found:?}");
}

#[test]
fn two_versions_have_their_own_rules() {
    const OLD: &str = r#"syntax = "proto3"; package v; import "buf/validate/validate.proto";
        message M { string a = 1 [(buf.validate.field).string.min_len = 1]; }"#;
    const NEW: &str = r#"syntax = "proto3"; package v; import "buf/validate/validate.proto";
        message M { string a = 1 [(buf.validate.field).string.min_len = 5]; }"#;
    assert_eq!(violations(&schema(OLD), "v.M", r#"{"a":"abc"}"#), []);
    assert_eq!(violations(&schema(NEW), "v.M", r#"{"a":"abc"}"#).len(), 1);
}

#[test]
fn rules_survive_the_way_through_the_set() {
    let sent = schema(SEARCH);
    let received = Schema::decode(sent.bytes().clone(), &SchemaLimits::default()).expect("sound");
    assert_eq!(violations(&received, "acme.tools.v1.WebSearchRequest", "{}").len(), 2);
}

#[test]
fn other_editions_are_refused_by_number() {
    let file = [&b"\x0a\x07a.proto\x62\x08editions\x70"[..], &[0xe9, 0x07]].concat();
    let set = [&[0x0a, file.len() as u8][..], &file].concat();
    let refused = Schema::decode(set, &SchemaLimits::default()).expect_err("edition 2024");
    assert!(matches!(&refused, SchemaError::Syntax { syntax, .. } if syntax == "edition 1001"), "{refused}");
}
