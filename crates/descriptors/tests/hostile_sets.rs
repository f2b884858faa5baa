//! Descriptor sets that no compiler writes: each is refused within the limits, for its reason, and none causes a panic.

use std::time::Instant;

use proptest::prelude::*;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto, FieldOptions,
    FileDescriptorProto, FileDescriptorSet, MessageOptions, OneofDescriptorProto, SourceCodeInfo, UninterpretedOption,
    source_code_info::Location,
};
use protomcp_descriptors::convert::to_json_schema;
use protomcp_descriptors::{MessageError, MessageLimits, Schema, SchemaError, SchemaLimits};
use protomcp_testing::patience;

fn file(name: &str, imports: &[&str], messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some("hostile.v1".to_owned()),
        dependency: imports.iter().map(|import| (*import).to_owned()).collect(),
        message_type: messages,
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn message(name: &str, fields: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.to_owned()), field: fields, ..DescriptorProto::default() }
}

fn field(name: &str, number: i32) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(Type::String.into()),
        ..FieldDescriptorProto::default()
    }
}

fn reference(name: &str, number: i32, type_name: &str) -> FieldDescriptorProto {
    let type_name = Some(type_name.to_owned());
    FieldDescriptorProto { r#type: Some(Type::Message.into()), type_name, ..field(name, number) }
}

fn set(files: Vec<FileDescriptorProto>) -> Vec<u8> {
    FileDescriptorSet { file: files }.encode_to_vec()
}

/// The reason for which a set is refused, in time.
fn refusal(bytes: Vec<u8>) -> SchemaError {
    let started = Instant::now();
    let refused = Schema::decode(bytes, &SchemaLimits::default()).expect_err("a hostile set is refused");
    assert!(started.elapsed() < patience(), "{refused} after {:?}", started.elapsed());
    assert!(refused.to_string().len() < 1000, "{refused}");
    refused
}

fn too_large(quantity: &'static str) -> impl Fn(&SchemaError) -> bool {
    move |error| matches!(error, SchemaError::TooLarge { quantity: found, .. } if *found == quantity)
}

fn invalid(error: &SchemaError) -> bool {
    matches!(error, SchemaError::Invalid(_))
}

#[test]
fn imports_are_there_and_end() {
    let missing = refusal(set(vec![file("a.proto", &["b.proto"], vec![])]));
    let expected = SchemaError::MissingImport { file: "a.proto".to_owned(), import: "b.proto".to_owned() };
    assert_eq!(missing, expected);
    assert_eq!(refusal(set(vec![file("a.proto", &["a.proto"], vec![])])), SchemaError::Cycle("a.proto".to_owned()));
    let mut circle: Vec<_> =
        (0..200).map(|index| file(&format!("{index}"), &[&format!("{}", (index + 1) % 200)], vec![])).collect();
    for file in &mut circle {
        file.public_dependency = vec![0];
    }
    assert!(matches!(refusal(set(circle)), SchemaError::Cycle(_)));
    let mut public = file("a.proto", &[], vec![]);
    public.public_dependency = vec![7, -1];
    assert!(invalid(&refusal(set(vec![public]))));
}

#[test]
fn entries_of_maps_have_a_key_and_a_value() {
    let map = |parts: Vec<FieldDescriptorProto>| {
        let options = Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() });
        let entry = DescriptorProto { options, ..message("MEntry", parts) };
        let fields = vec![FieldDescriptorProto {
            label: Some(Label::Repeated.into()),
            ..reference("m", 1, ".hostile.v1.M.MEntry")
        }];
        let owner = DescriptorProto { nested_type: vec![entry], ..message("M", fields) };
        set(vec![file("a.proto", &[], vec![owner])])
    };
    let (key, value) = (|| field("key", 1), || field("value", 2));
    Schema::decode(map(vec![key(), value()]), &SchemaLimits::default()).unwrap();
    let bytes = FieldDescriptorProto { r#type: Some(Type::Bytes.into()), ..key() };
    let many = FieldDescriptorProto { label: Some(Label::Repeated.into()), ..value() };
    for parts in [vec![], vec![key()], vec![value()], vec![bytes, value()], vec![key(), many]] {
        let refused = refusal(map(parts));
        assert_eq!(
            refused,
            SchemaError::Invalid("the entry hostile.v1.M.MEntry of a map needs a key and a value".to_owned())
        );
    }
}

#[test]
fn names_are_not_used_twice() {
    let twice = vec![file("a.proto", &[], vec![]), file("a.proto", &[], vec![])];
    assert_eq!(refusal(set(twice)), SchemaError::DuplicateFile("a.proto".to_owned()));
    let duplicates = [
        vec![message("M", vec![]), message("M", vec![])],
        vec![message("M", vec![field("x", 1), field("x", 2)])],
        vec![message("M", vec![field("x", 1), field("y", 1)])],
        vec![message("M", vec![field("some_name", 1), field("someName", 2)])],
    ];
    for messages in duplicates {
        let refused = refusal(set(vec![file("a.proto", &[], messages)]));
        assert!(invalid(&refused), "{refused}");
    }
    let two_files =
        vec![file("a.proto", &[], vec![message("M", vec![])]), file("b.proto", &[], vec![message("M", vec![])])];
    assert!(invalid(&refusal(set(two_files))));
}

#[test]
fn sizes_are_limited_before_anything_is_built() {
    let fields = (1..=100_000).map(|number| field(&format!("f{number}"), number)).collect();
    assert!(too_large("fields")(&refusal(set(vec![file("a.proto", &[], vec![message("M", fields)])]))));

    let messages = (0..20_000).map(|index| message(&format!("M{index}"), vec![])).collect();
    assert!(too_large("types")(&refusal(set(vec![file("a.proto", &[], messages)]))));

    let files = (0..300).map(|index| file(&format!("{index}.proto"), &[], vec![])).collect();
    assert!(too_large("files")(&refusal(set(files))));

    assert!(too_large("bytes")(&refusal(vec![0; (8 << 20) + 1])));

    let mut imports = file("a.proto", &[], vec![]);
    imports.dependency = vec![String::new(); 300_000];
    assert!(too_large("elements")(&refusal(set(vec![imports]))));

    let mut positions = file("a.proto", &[], vec![]);
    let location = Location { path: vec![4, 0], span: vec![0, 0, 1], ..Location::default() };
    positions.source_code_info = Some(SourceCodeInfo { location: vec![location; 300_000] });
    assert!(too_large("elements")(&refusal(set(vec![positions]))));

    let options = FieldOptions {
        uninterpreted_option: vec![UninterpretedOption { string_value: Some(vec![0; 2 << 20]), ..Default::default() }],
        ..FieldOptions::default()
    };
    let heavy = FieldDescriptorProto { options: Some(options), ..field("x", 1) };
    assert!(too_large("bytes of options")(&refusal(set(vec![file("a.proto", &[], vec![message("M", vec![heavy])])]))));
}

#[test]
fn nesting_is_limited() {
    for depth in [33, 99, 1_000, 20_000] {
        let mut bytes = Vec::new();
        for _ in 0..depth {
            let mut outer = vec![0x0a, 0x01, b'M', 0x1a];
            prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
            outer.extend_from_slice(&bytes);
            bytes = outer;
        }
        let mut file = vec![0x0a, 0x01, b'a', 0x22];
        prost::encoding::encode_varint(bytes.len() as u64, &mut file);
        file.extend_from_slice(&bytes);
        let mut set = vec![0x0a];
        prost::encoding::encode_varint(file.len() as u64, &mut set);
        set.extend_from_slice(&file);
        assert!(too_large("levels of nesting")(&refusal(set)), "{depth}");
    }
}

#[test]
fn syntaxes_that_are_not_read_are_named() {
    let mut future = file("a.proto", &[], vec![message("M", vec![field("x", 1)])]);
    future.syntax = Some("proto9".to_owned());
    assert!(matches!(refusal(set(vec![future])), SchemaError::Syntax { syntax, .. } if syntax == "proto9"));
    let mut bare = file("a.proto", &[], vec![message("M", vec![field("x", 1)])]);
    bare.syntax = None;
    assert!(Schema::decode(set(vec![bare]), &SchemaLimits::default()).is_ok(), "no syntax means proto2");
}

#[test]
fn definitions_that_contradict_each_other_are_refused() {
    let with_oneof = |index| {
        let member = FieldDescriptorProto { oneof_index: Some(index), ..field("x", 1) };
        let oneof = vec![OneofDescriptorProto { name: Some("o".to_owned()), options: None }];
        DescriptorProto { oneof_decl: oneof, ..message("M", vec![member]) }
    };
    let no_values = EnumDescriptorProto { name: Some("E".to_owned()), ..EnumDescriptorProto::default() };
    let with_enum = DescriptorProto { enum_type: vec![no_values], ..message("M", vec![]) };
    let broken = [
        message("M", vec![reference("x", 1, ".hostile.v1.Missing")]),
        message("M", vec![reference("x", 1, "..")]),
        message("M", vec![reference("x", 1, "")]),
        message("M", vec![reference("x", 1, ".google.protobuf.Timestamp")]),
        message("M", vec![field("x", 0)]),
        message("M", vec![field("x", -1)]),
        message("M", vec![field("x", 19_500)]),
        message("M", vec![field("x", i32::MAX)]),
        with_oneof(7),
        with_oneof(-1),
        with_enum,
    ];
    for message in broken {
        let text = format!("{message:?}");
        assert!(invalid(&refusal(set(vec![file("a.proto", &[], vec![message])]))), "{text}");
    }
}

#[test]
fn a_false_map_entry_causes_no_panic() {
    use prost_types::MessageOptions;
    let options = Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() });
    for fields in [vec![], vec![field("x", 5)], vec![field("key", 1)], vec![field("value", 1), field("key", 2)]] {
        let entry = DescriptorProto { options: options.clone(), ..message("Entry", fields) };
        let entries = FieldDescriptorProto {
            label: Some(Label::Repeated.into()),
            ..reference("entries", 1, ".hostile.v1.M.Entry")
        };
        let outer = DescriptorProto { nested_type: vec![entry], ..message("M", vec![entries]) };
        let Ok(schema) = Schema::decode(set(vec![file("a.proto", &[], vec![outer])]), &SchemaLimits::default()) else {
            continue;
        };
        let message = schema.message("hostile.v1.M").expect("the set was accepted");
        let limits = MessageLimits::default();
        let _ = message
            .decode(&[0x0a, 0x03, 0x0a, 0x01, b'x'], &limits)
            .map(|read| read.to_json(Default::default(), &limits));
        let _ = message.parse_json(r#"{"entries":{"a":"b"}}"#, &limits);
    }
}

#[test]
fn a_message_that_bears_a_known_name_is_not_taken_for_it() {
    let mut own = file("mine.proto", &[], vec![message("Timestamp", vec![field("seconds", 1)])]);
    own.package = Some("google.protobuf".to_owned());
    assert!(invalid(&refusal(set(vec![own.clone()]))));
    // Under the name of the known file it is the known one that counts.
    own.name = Some("google/protobuf/timestamp.proto".to_owned());
    let schema = Schema::decode(set(vec![own]), &SchemaLimits::default()).expect("the file is ignored");
    let time = schema.message("google.protobuf.Timestamp").expect("known");
    let limits = MessageLimits::default();
    let read = time.parse_json("\"2026-01-01T00:00:00Z\"", &limits).expect("a time");
    assert_eq!(read.to_json(Default::default(), &limits).expect("a time"), "\"2026-01-01T00:00:00Z\"");
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_loaded(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Schema::decode(bytes, &SchemaLimits::default());
    }

    #[test]
    fn a_set_with_wrong_bytes_is_refused_or_loaded(
        at in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let inner = message("N", vec![field("b", 1)]);
        let outer = DescriptorProto { nested_type: vec![inner], ..message("M", vec![field("a", 1), reference("n", 2, ".hostile.v1.M.N")]) };
        let mut bytes = set(vec![file("a.proto", &["b.proto"], vec![outer]), file("b.proto", &[], vec![message("O", vec![])])]);
        for (index, value) in at {
            let len = bytes.len();
            bytes[index.index(len)] = value;
        }
        let _ = Schema::decode(bytes, &SchemaLimits::default());
    }
}

#[test]
fn edition_2023_is_read_or_refused() {
    // `editions = "2023"`, one message with one field, and positions, as a compiler writes them.
    let mut bytes = file("a.proto", &[], vec![message("M", vec![field("x", 1)])]);
    bytes.syntax = Some("editions".to_owned());
    let mut encoded = bytes.encode_to_vec();
    encoded.extend([0x70, 0xe8, 0x07]);
    let mut set = vec![0x0a];
    prost::encoding::encode_varint(encoded.len() as u64, &mut set);
    set.extend(encoded);
    let loaded = Schema::decode(set, &SchemaLimits::default());
    assert_eq!(loaded.is_ok(), cfg!(feature = "validation"), "{loaded:?}");
    match loaded {
        Ok(schema) => {
            let message = schema.message("hostile.v1.M").expect("there");
            let limits = MessageLimits::default();
            // Presence is explicit in editions: a value that is set to its default is there.
            let empty = message.parse_json(r#"{"x":""}"#, &limits).expect("a text");
            assert_eq!(empty.encode(), [0x0a, 0x00]);
        }
        Err(error) => {
            assert!(matches!(&error, SchemaError::Syntax { syntax, .. } if syntax == "edition 1000"), "{error}");
        }
    }
}

/// A message with `fields` fields of an enum with `values` names, each of `bytes` bytes.
fn choices(fields: i32, values: i32, bytes: usize) -> Vec<u8> {
    let value = |number| EnumValueDescriptorProto {
        name: Some(format!("{}{number}", "V".repeat(bytes))),
        number: Some(number),
        ..EnumValueDescriptorProto::default()
    };
    let choice = EnumDescriptorProto {
        name: Some("E".to_owned()),
        value: (0..values).map(value).collect(),
        ..EnumDescriptorProto::default()
    };
    let of_enum = |number| FieldDescriptorProto {
        r#type: Some(Type::Enum.into()),
        type_name: Some("E".to_owned()),
        ..field(&format!("f{number}"), number)
    };
    let mut file = file("a.proto", &[], vec![message("M", (1..=fields).map(of_enum).collect())]);
    file.enum_type = vec![choice];
    set(vec![file])
}

#[test]
fn json_schemas_are_not_out_of_proportion() {
    let schema_of = |set: Vec<u8>| {
        let schema = Schema::decode(set, &SchemaLimits::default()).expect("within the limits");
        to_json_schema(&schema.message("hostile.v1.M").expect("there"))
    };
    let few = schema_of(choices(2, 3, 4)).expect("small");
    assert_eq!(few["properties"]["f2"]["enum"], serde_json::json!(["VVVV0", "VVVV1", "VVVV2"]));
    let many = schema_of(choices(1000, 1000, 16)).expect("the names occur once");
    assert_eq!(many["properties"]["f1000"], serde_json::json!({"$ref": "#/$defs/hostile.v1.E"}));
    assert_eq!(many["$defs"]["hostile.v1.E"]["enum"].as_array().map(Vec::len), Some(1000));
    assert!(many.to_string().len() < 100_000);
    // The name of the package is in each reference.
    let fields = (1..=2000).map(|number| reference(&format!("f{number}"), number, "M")).collect();
    let mut long = file("a.proto", &[], vec![message("M", fields)]);
    long.package = Some("p".repeat(100_000));
    let schema = Schema::decode(set(vec![long]), &SchemaLimits::default()).expect("within the limits");
    let message = schema.messages().next().expect("there");
    let refused = to_json_schema(&message).expect_err("200 MB");
    assert!(matches!(refused, MessageError::TooLarge { quantity: "bytes of JSON Schema", .. }), "{refused}");
}
