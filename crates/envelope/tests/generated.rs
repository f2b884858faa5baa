//! The committed code is what the proto file says.
//!
//! Compiles `proto/protomcp.proto` in pure Rust (no `protoc`) and compares with `src/gen/protomcp.rs`. After an edit of the
//! proto file run `UPDATE_GENERATED=1 cargo test -p protomcp-envelope --test proto generated` to write the new code.

use std::{fs, path::Path};

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet, field_descriptor_proto::Type};
use protomcp_envelope::{Envelope, Msg, message_name};
use protomcp_testing::assert_committed;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gen/protomcp.rs");

#[test]
fn the_committed_code_is_generated_from_the_proto_file() {
    assert_committed(COMMITTED, generate(), "UPDATE_GENERATED");
}

#[test]
fn every_member_of_the_oneof_decodes_to_a_message_with_its_name() {
    let members = fields_of(&descriptors(), "Envelope")
        .into_iter()
        .filter(|(name, _, kind)| *kind == Type::Message && name != "context")
        .collect::<Vec<_>>();
    assert_eq!(members.len(), 58, "45 of the original protocol and 13 of the extension");
    for (name, number, _) in members {
        let mut bytes = Vec::new();
        prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
        bytes.push(0);
        let msg: Msg = Envelope::decode(&bytes[..]).unwrap().msg.unwrap();
        assert_eq!(message_name(&msg), name);
    }
}

#[test]
fn only_extensions_use_the_extension_numbers() {
    // The original protocol's own numbers end at 63 in the envelope and at 10 elsewhere.
    for message in &descriptors().file[0].message_type {
        for field in &message.field {
            let number = field.number();
            let original = if message.name() == "Envelope" { number <= 63 } else { number <= 10 };
            let in_oneof = message.name() == "Envelope" && field.oneof_index.is_some();
            let extension = if in_oneof { (200..300).contains(&number) } else { number >= 100 };
            assert!(original || extension, "{}.{} = {number}", message.name(), field.name());
        }
    }
}

#[test]
fn json_payloads_are_bytes_in_code_and_strings_in_proto() {
    for message in &descriptors().file[0].message_type {
        for field in message.field.iter().filter(|field| field.name().ends_with("_json")) {
            assert_eq!(field.r#type(), Type::String, "{}.{}", message.name(), field.name());
        }
    }
}

fn generate() -> String {
    let mut descriptors = descriptors();
    for message in &mut descriptors.file[0].message_type {
        json_as_bytes(message);
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated");
    fs::create_dir_all(&out).expect("the folder can be made");
    let mut config = prost_build::Config::new();
    // Rare, and large: without the box every envelope would be as large.
    config.bytes(["."]).boxed(".protomcp.Envelope.context").out_dir(&out);
    as_json(&mut config, &descriptors);
    config.compile_fds(descriptors).expect("the descriptors make code");
    fs::read_to_string(out.join("protomcp.rs")).expect("the code was written")
}

/// With the feature `serde` messages are shown as JSON: bytes that are text as text, others by their number.
fn as_json(config: &mut prost_build::Config, descriptors: &FileDescriptorSet) {
    config.type_attribute(".", "#[cfg_attr(feature = \"serde\", derive(::serde::Serialize))]");
    config.enum_attribute(
        ".protomcp.Envelope.msg",
        "#[cfg_attr(feature = \"serde\", serde(rename_all = \"snake_case\"))]",
    );
    for message in &descriptors.file[0].message_type {
        for field in message.field.iter().filter(|field| field.r#type() == Type::Bytes) {
            let path = format!(".protomcp.{}.{}", message.name(), field.name());
            let function = if field.name().ends_with("_json") { "text" } else { "length" };
            config.field_attribute(
                path,
                format!("#[cfg_attr(feature = \"serde\", serde(serialize_with = \"crate::json_text::{function}\"))]"),
            );
        }
    }
}

/// On the wire a string and a bytes field are the same; in memory only bytes can be a slice of what was received.
fn json_as_bytes(message: &mut DescriptorProto) {
    for field in message.field.iter_mut().filter(|field| field.name().ends_with("_json")) {
        field.set_type(Type::Bytes);
    }
}

fn descriptors() -> FileDescriptorSet {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    protox::compile(["protomcp.proto"], [folder]).expect("the proto file compiles")
}

fn fields_of(set: &FileDescriptorSet, message: &str) -> Vec<(String, u32, Type)> {
    let message = set.file[0].message_type.iter().find(|m| m.name() == message).expect("the message exists");
    let number = |n: i32| u32::try_from(n).expect("field numbers are positive");
    message.field.iter().map(|f| (f.name().to_owned(), number(f.number()), f.r#type())).collect()
}
