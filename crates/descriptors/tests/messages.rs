//! Messages by descriptor: both forms, two versions side by side, and wide integers.

use prost::Message as _;
use protomcp_descriptors::{MessageError, MessageLimits, MessageType, Schema, SchemaLimits, WideIntegers};

const SEARCH: &str = r#"
    syntax = "proto3";
    package acme.tools.v1;
    import "google/protobuf/any.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    message WebSearchRequest {
      string query = 1;
      optional int32 max_results = 2;
      DateRange date_range = 3;
      repeated string sites = 4 [json_name = "per-page"];
      map<string, int64> weights = 5;
      google.protobuf.Timestamp since = 6;
      google.protobuf.Struct extra = 7;
      google.protobuf.Any any = 8;
      Color color = 9;
      repeated uint64 wide = 10;
      bytes raw = 11;
      WebSearchRequest next = 12;
      repeated Color colors = 13;
    }
    message DateRange { string start = 1; string end = 2; }
    message WebSearchResponse { int64 total = 1; }
    enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; }
"#;

/// The encoded set of one file, without the well-known ones.
fn compile(source: &str) -> Vec<u8> {
    let file = protox::Compiler::with_file_resolver(Single(source.to_owned()));
    let mut compiler = file;
    compiler.include_imports(false);
    compiler.open_file("test.proto").expect("the source compiles");
    compiler.encode_file_descriptor_set()
}

struct Single(String);

impl protox::file::FileResolver for Single {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        if name == "test.proto" {
            return protox::file::File::from_source(name, &self.0);
        }
        protox::file::GoogleFileResolver::new().open_file(name)
    }
}

fn schema(source: &str) -> Schema {
    Schema::decode(compile(source), &SchemaLimits::default()).expect("the set is sound")
}

fn search() -> MessageType {
    schema(SEARCH).message("acme.tools.v1.WebSearchRequest").expect("the message is there")
}

/// JSON through the binary form and back.
fn through(message: &MessageType, json: &str, wide: WideIntegers) -> Result<String, MessageError> {
    let limits = MessageLimits::default();
    let bytes = message.parse_json(json, &limits)?.encode();
    message.unpack(&message.type_url(), &bytes, &limits)?.to_json(wide, &limits)
}

#[test]
fn json_survives_the_binary_form() {
    for json in [
        "{}",
        r#"{"query":"protobuf"}"#,
        r#"{"maxResults":0}"#,
        r#"{"dateRange":{"start":"2026-01-01"}}"#,
        r#"{"per-page":["a","b"]}"#,
        r#"{"weights":{"a":-9223372036854775808}}"#,
        r#"{"since":"2026-01-01T00:00:00Z"}"#,
        r#"{"extra":{"a":[1.5,null,true,"x",{}]}}"#,
        r#"{"any":{"@type":"type.googleapis.com/acme.tools.v1.DateRange","start":"x"}}"#,
        r#"{"color":"COLOR_RED"}"#,
        r#"{"raw":"AAEC"}"#,
        r#"{"next":{"next":{"query":"x"}}}"#,
    ] {
        assert_eq!(through(&search(), json, WideIntegers::Numbers).as_deref(), Ok(json));
    }
}

#[test]
fn integers_beyond_2_to_the_53_keep_their_digits() {
    let numbers = r#"{"wide":[9007199254740993,18446744073709551615]}"#;
    let text = r#"{"wide":["9007199254740993","18446744073709551615"]}"#;
    for json in [numbers, text] {
        assert_eq!(through(&search(), json, WideIntegers::Numbers).as_deref(), Ok(numbers));
        assert_eq!(through(&search(), json, WideIntegers::Text).as_deref(), Ok(text));
    }
    let negative = r#"{"weights":{"a":-9223372036854775809}}"#;
    assert!(through(&search(), negative, WideIntegers::Numbers).is_err());
    for out_of_range in ["18446744073709551616", "-1", "1.5", "1e30"] {
        let json = format!(r#"{{"wide":[{out_of_range}]}}"#);
        assert!(matches!(through(&search(), &json, WideIntegers::Numbers), Err(MessageError::Json { .. })), "{json}");
    }
}

#[test]
fn an_integer_that_a_value_would_round_is_reported() {
    let lost = through(&search(), r#"{"extra":{"id":9007199254740993}}"#, WideIntegers::Numbers).expect_err("53 bits");
    assert!(lost.to_string().contains("9007199254740993"), "{lost}");
    assert!(through(&search(), r#"{"extra":{"id":9007199254740992}}"#, WideIntegers::Numbers).is_ok(), "a power of 2");
}

#[test]
fn json_that_does_not_fit_is_refused_with_its_key() {
    let unknown = through(&search(), r#"{"qeury":"x"}"#, WideIntegers::Numbers).expect_err("unknown");
    assert!(unknown.to_string().contains("qeury"), "{unknown}");
    for json in ["", "[]", "1", "{", "{}{}", r#"{"query":1}"#, r#"{"maxResults":1.5}"#, r#"{"color":"BLUE"}"#] {
        assert!(matches!(through(&search(), json, WideIntegers::Numbers), Err(MessageError::Json { .. })), "{json}");
    }
    let deep = format!("{}{}", r#"{"next":"#.repeat(10_000), "}".repeat(10_000));
    assert!(matches!(through(&search(), &deep, WideIntegers::Numbers), Err(MessageError::Json { .. })));
}

#[test]
fn only_the_name_behind_the_last_slash_of_a_type_url_counts() {
    let limits = MessageLimits::default();
    for url in [
        "type.googleapis.com/acme.tools.v1.WebSearchRequest",
        "x/y/acme.tools.v1.WebSearchRequest",
        "/acme.tools.v1.WebSearchRequest",
    ] {
        assert!(search().unpack(url, &[], &limits).is_ok(), "{url}");
    }
    for url in
        ["", "type.googleapis.com/acme.tools.v1.DateRange", "type.googleapis.com/acme.tools.v1.WebSearchRequest/"]
    {
        assert!(matches!(search().unpack(url, &[], &limits), Err(MessageError::WrongType { .. })), "{url}");
    }
}

#[test]
fn malformed_bytes_are_refused() {
    let limits = MessageLimits::default();
    let mut deep = Vec::new();
    for _ in 0..1000 {
        let mut outer = vec![0x62];
        prost::encoding::encode_varint(deep.len() as u64, &mut outer);
        outer.extend_from_slice(&deep);
        deep = outer;
    }
    for bytes in [&[0x0a][..], &[0x0a, 0x02, b'x'], &[0x08, 0x01], &[0x0a, 0x01, 0xff], &[0xff; 16], &deep] {
        assert!(matches!(search().decode(bytes, &limits), Err(MessageError::Malformed { .. })), "{bytes:?}");
    }
}

#[test]
fn unknown_fields_are_kept_and_counted() {
    let message = search().decode(&[0xa0, 0x06, 0x01], &MessageLimits::default()).expect("field 100 is unknown");
    assert_eq!(message.unknown_fields(), 1);
    assert_eq!(message.encode(), [0xa0, 0x06, 0x01]);
}

#[test]
fn values_are_counted_before_they_are_made() {
    let limits = MessageLimits::default();
    let too_many =
        |found: Result<_, MessageError>| matches!(found, Err(MessageError::TooLarge { quantity: "values", .. }));
    let empty_messages = [0x62, 0x00].repeat(300_000);
    assert!(too_many(search().decode(&empty_messages, &limits).map(drop)));
    let mut packed = vec![0x52];
    prost::encoding::encode_varint(300_000, &mut packed);
    packed.extend(vec![0; 300_000]);
    assert!(too_many(search().decode(&packed, &limits).map(drop)));
    let json = format!(r#"{{"wide":[{}0]}}"#, "0,".repeat(300_000));
    assert!(too_many(search().parse_json(&json, &limits).map(drop)));
    let commas = format!(r#"{{"query":"{}\""}}"#, ",[{".repeat(300_000));
    assert!(search().parse_json(&commas, &limits).is_ok(), "a comma in a text does not count");
}

/// A field with bytes in the binary form.
fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut field);
    prost::encoding::encode_varint(bytes.len() as u64, &mut field);
    field.extend_from_slice(bytes);
    field
}

/// A `google.protobuf.Any`.
fn any(name: &str, value: &[u8]) -> Vec<u8> {
    [field(1, format!("x/{name}").as_bytes()), field(2, value)].concat()
}

#[test]
fn values_outside_of_plain_fields_are_counted() {
    let message = schema(
        r#"syntax = "proto2"; import "google/protobuf/any.proto"; import "google/protobuf/struct.proto";
        message R { extensions 100 to 200; optional google.protobuf.Any any = 1; optional group G = 2 { repeated bool x = 3 [packed = true]; } }
        message Inner { optional google.protobuf.Any any = 1; repeated bool x = 2 [packed = true]; }
        extend R { repeated bool x = 100 [packed = true]; }"#,
    );
    let message = message.message("R").expect("there");
    let limits = MessageLimits { values: 1000, ..MessageLimits::default() };
    let too_many = vec![0; 2000];
    let few = vec![0; 500];
    let group = |packed: &[u8]| [&[0x13][..], &field(3, packed), &[0x14]].concat();
    let in_any = |packed: &[u8]| field(1, &any("Inner", &field(2, packed)));
    let in_two = |packed: &[u8]| field(1, &any("Inner", &field(1, &any("Inner", &field(2, packed)))));
    let list = |nulls: usize| field(1, &any("google.protobuf.ListValue", &[0x0a, 0x02, 0x08, 0x00].repeat(nulls)));
    // The same `Any` in two parts, the type behind the value.
    let split = |packed: &[u8]| {
        let parts = [field(2, &field(2, packed)), field(1, b"x/Inner")];
        [field(1, &parts[0]), field(1, &parts[1])].concat()
    };
    for (kind, refused, accepted) in [
        ("an extension", field(100, &too_many), field(100, &few)),
        ("a group", group(&too_many), group(&few)),
        ("an Any", in_any(&too_many), in_any(&few)),
        ("an Any in an Any", in_two(&too_many), in_two(&few)),
        ("a list in an Any", list(1000), list(100)),
        ("an Any in two parts", split(&too_many), split(&few)),
    ] {
        assert!(message.decode(&accepted, &limits).is_ok(), "{kind}");
        let found = message.decode(&refused, &limits);
        assert_eq!(found, Err(MessageError::TooLarge { quantity: "values", limit: 1000 }), "{kind}");
    }
}

#[test]
fn messages_in_messages_of_any_type_end() {
    let message =
        schema(r#"syntax = "proto3"; import "google/protobuf/any.proto"; message M { google.protobuf.Any any = 1; }"#);
    let message = message.message("M").expect("there");
    let limits = MessageLimits { bytes: 1 << 20, ..MessageLimits::default() };
    let nested = |levels: usize, innermost: &[u8]| {
        let inner = (1..levels).fold(any("M", innermost), |inner, _| any("M", &field(1, &inner)));
        field(1, &inner)
    };
    let decoded = message.decode(&nested(16, b""), &limits).expect("a few levels");
    assert!(decoded.to_json(WideIntegers::Numbers, &limits).is_ok());
    for levels in [17, 500] {
        let found = message.decode(&nested(levels, b""), &limits);
        assert!(matches!(found, Err(MessageError::TooLarge { .. })), "{levels}: {found:?}");
    }
    // Each level has a copy of the bytes inside of it.
    let unknown = field(15, &vec![0; 400_000]);
    assert!(message.decode(&nested(1, &unknown), &limits).is_ok());
    let found = message.decode(&nested(4, &unknown), &limits);
    assert!(
        matches!(found, Err(MessageError::TooLarge { quantity, .. }) if quantity.starts_with("bytes")),
        "{found:?}"
    );
}

#[test]
fn the_paths_of_masks_are_values() {
    let message = schema(
        r#"syntax = "proto3"; import "google/protobuf/field_mask.proto"; import "google/protobuf/any.proto";
        message M { google.protobuf.FieldMask mask = 1; repeated google.protobuf.FieldMask all = 2; string text = 3;
          map<string, google.protobuf.FieldMask> by_name = 4; google.protobuf.Any any = 5; M inner = 6; }"#,
    );
    let message = message.message("M").expect("there");
    let limits = MessageLimits { values: 1000, ..MessageLimits::default() };
    let mask = |paths: usize| vec!["a"; paths].join(",");
    let escaped = vec!["a"; 2000].join("\\u002c");
    for refused in [
        format!(r#"{{"mask":"{}"}}"#, mask(2000)),
        format!(r#"{{"mask":"{escaped}"}}"#),
        format!(r#"{{"text":"{}","inner":{{"mask":"{}"}}}}"#, mask(2000), mask(2000)),
        format!(r#"{{"all":["{}","{}"]}}"#, mask(600), mask(600)),
        format!(r#"{{"byName":{{"a":"{}"}}}}"#, mask(2000)),
        format!(r#"{{"any":{{"value":"{}","@type":"x/google.protobuf.FieldMask"}}}}"#, mask(2000)),
    ] {
        let found = message.parse_json(&refused, &limits);
        assert_eq!(found, Err(MessageError::TooLarge { quantity: "values", limit: 1000 }), "{}", &refused[..30]);
    }
    let long = format!(r#"{{"text":"{}","mask":"{}"}}"#, mask(2000), mask(500));
    assert!(message.parse_json(&long, &limits).is_ok(), "a comma in a text is not a value");
}

#[test]
fn long_names_do_not_multiply() {
    let name = format!("LONG_{}", "X".repeat(1 << 20));
    let source = format!("syntax = \"proto3\"; package p; message M {{ repeated E e = 1; }} enum E {{ {name} = 0; }}");
    let message = schema(&source).message("p.M").expect("there");
    let limits = MessageLimits::default();
    let mut bytes = vec![0x0a];
    prost::encoding::encode_varint(1000, &mut bytes);
    bytes.extend(vec![0; 1000]);
    let decoded = message.decode(&bytes, &limits).expect("a thousand zeros");
    let refused = decoded.to_json(WideIntegers::Numbers, &limits).expect_err("a gigabyte");
    assert_eq!(refused, MessageError::TooLarge { quantity: "bytes of JSON", limit: limits.json_bytes });
}

#[test]
fn two_versions_of_one_package_live_side_by_side() {
    let first = schema("syntax = \"proto3\"; package acme.v1; message M { string a = 1; }");
    let second = schema("syntax = \"proto3\"; package acme.v1; message M { int64 a = 1; string b = 2; }");
    let (old, new) = (first.message("acme.v1.M").expect("old"), second.message("acme.v1.M").expect("new"));
    assert_eq!(through(&old, r#"{"a":"x"}"#, WideIntegers::Numbers).as_deref(), Ok(r#"{"a":"x"}"#));
    assert_eq!(through(&new, r#"{"a":1,"b":"y"}"#, WideIntegers::Numbers).as_deref(), Ok(r#"{"a":1,"b":"y"}"#));
    assert!(through(&old, r#"{"b":"y"}"#, WideIntegers::Numbers).is_err());
    assert!(new.decode(&[0x0a, 0x01, b'x'], &MessageLimits::default()).is_err(), "a text is not a number");
}

#[test]
fn bytes_of_a_set_stay_as_they_came() {
    let bytes = compile(SEARCH);
    let loaded = Schema::decode(bytes.clone(), &SchemaLimits::default()).expect("sound");
    assert_eq!(loaded.bytes().as_ref(), bytes);
    assert_eq!(loaded.messages().count(), 3);
}

#[test]
fn only_files_that_every_reader_has_are_left_out() {
    let features = "google/protobuf/cpp_features.proto";
    let file = |name: &str, imports: &[&str]| prost_types::FileDescriptorProto {
        name: Some(name.to_owned()),
        dependency: imports.iter().map(|name| (*name).to_owned()).collect(),
        ..prost_types::FileDescriptorProto::default()
    };
    let timestamp = "google/protobuf/timestamp.proto";
    let file = vec![file(features, &[]), file(timestamp, &[]), file("a.proto", &[features, timestamp])];
    let set = prost_types::FileDescriptorSet { file }.encode_to_vec();
    let whole = Schema::decode(set, &SchemaLimits::default()).expect("sound");
    let cut = whole.bytes_without_common_files();
    assert!(cut.len() < whole.bytes().len());
    Schema::decode(cut, &SchemaLimits::default()).expect("nothing is missing");
}

#[test]
fn a_tool_that_names_no_types_gets_the_obvious_ones() {
    let loaded = schema(SEARCH);
    let input = loaded.default_input().expect("one message ends in Request");
    assert_eq!(input.full_name(), "acme.tools.v1.WebSearchRequest");
    let output = loaded.default_output(&input).expect("the response is next to it");
    assert_eq!(output.full_name(), "acme.tools.v1.WebSearchResponse");
    let only = schema("syntax = \"proto3\"; package p; message Only { message Inner {} }");
    assert_eq!(only.default_input().expect("one message").full_name(), "p.Only");
    let several = schema("syntax = \"proto3\"; package p; message ARequest {} message BRequest {}");
    assert!(several.default_input().is_none());
    let none = schema("syntax = \"proto3\"; package p; enum E { Z = 0; }");
    assert!(none.default_input().is_none());
}

#[test]
fn an_any_of_an_unknown_type_has_no_json_form() {
    let any = prost_types::Any { type_url: "x/not.There".to_owned(), value: vec![] };
    let mut bytes = vec![0x42];
    prost::encoding::encode_varint(any.encoded_len() as u64, &mut bytes);
    bytes.extend(any.encode_to_vec());
    let limits = MessageLimits::default();
    let message = search().decode(&bytes, &limits).expect("any type is well-formed");
    assert!(matches!(message.to_json(WideIntegers::Numbers, &limits), Err(MessageError::Json { .. })));
}

#[test]
fn whole_numbers_have_no_fraction() {
    let message = schema(
        r#"syntax = "proto3"; import "google/protobuf/struct.proto";
        message M { google.protobuf.Value value = 1; repeated double numbers = 2; repeated float floats = 3; }"#,
    );
    let message = message.message("M").expect("the message is there");
    for json in [
        r#"{"value":{"a":[1,-2,0.5]}}"#,
        r#"{"numbers":[9007199254740992,-9007199254740992,-0.0,1e+300,0.1]}"#,
        r#"{"floats":[16777216,0.5,-3]}"#,
    ] {
        assert_eq!(through(&message, json, WideIntegers::Numbers).as_deref(), Ok(json));
    }
}
