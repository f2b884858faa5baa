//! A file as an encoded descriptor set, with its comments.
//!
//! The bytes are written here, because generated types have no room for the rules. The set imports
//! `google/protobuf/struct.proto` where it is used. The rules are options by number, so the file that defines them is
//! not imported: a validator knows it, and everything else need not. Field numbers are from
//! `google/protobuf/descriptor.proto`.

use crate::convert::model::{FieldType, ProtoField, ProtoFile, ProtoMessage, Shape};
use crate::convert::names::{default_json_name, pascal_case};
use crate::convert::rules::{put_bytes, put_varint};

const OPTIONAL: u64 = 1;
const REPEATED: u64 = 3;

/// The encoded set of one file.
pub(crate) fn encode_set(file: &ProtoFile, name: &str) -> Vec<u8> {
    let mut set = Vec::new();
    put_bytes(1, &encode_file(file, name), &mut set);
    set
}

fn encode_file(file: &ProtoFile, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(1, name.as_bytes(), &mut bytes);
    put_bytes(2, file.package.as_bytes(), &mut bytes);
    if file.uses_struct() {
        put_bytes(3, b"google/protobuf/struct.proto", &mut bytes);
    }
    for message in &file.messages {
        put_bytes(4, &encode_message(message, &file.package), &mut bytes);
    }
    let comments = encode_comments(file);
    if !comments.is_empty() {
        put_bytes(9, &comments, &mut bytes);
    }
    put_bytes(12, b"proto3", &mut bytes);
    bytes
}

fn encode_message(message: &ProtoMessage, package: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(1, message.name.as_bytes(), &mut bytes);
    let mut synthetic = Vec::new();
    for field in &message.fields {
        put_bytes(2, &encode_field(field, &message.name, package, &mut synthetic), &mut bytes);
    }
    for field in &message.fields {
        if let Shape::Map(element) = &field.shape {
            put_bytes(3, &encode_entry(&field.name, element, package), &mut bytes);
        }
    }
    if !message.rules.is_empty() {
        put_bytes(7, &message.rules.encode(), &mut bytes);
    }
    for name in synthetic {
        let mut oneof = Vec::new();
        put_bytes(1, name.as_bytes(), &mut oneof);
        put_bytes(8, &oneof, &mut bytes);
    }
    for number in &message.reserved {
        let mut range = Vec::new();
        put_varint(1, u64::from(*number), &mut range);
        put_varint(2, u64::from(*number) + 1, &mut range);
        put_bytes(9, &range, &mut bytes);
    }
    bytes
}

fn encode_field(field: &ProtoField, message: &str, package: &str, synthetic: &mut Vec<String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(1, field.name.as_bytes(), &mut bytes);
    put_varint(3, u64::from(field.number), &mut bytes);
    let element = field.shape.element();
    match &field.shape {
        Shape::Plain(_) | Shape::Optional(_) => put_varint(4, OPTIONAL, &mut bytes),
        Shape::Repeated(_) | Shape::Map(_) => put_varint(4, REPEATED, &mut bytes),
    }
    if matches!(field.shape, Shape::Map(_)) {
        put_varint(5, 11, &mut bytes);
        let entry = format!(".{package}.{message}.{}", entry_name(&field.name));
        put_bytes(6, entry.as_bytes(), &mut bytes);
    } else {
        put_type(element, package, &mut bytes);
    }
    if !field.rules.is_empty() {
        put_bytes(8, &field.rules.encode(), &mut bytes);
    }
    if field.shape.has_group() {
        put_varint(9, synthetic.len() as u64, &mut bytes);
        synthetic.push(format!("_{}", field.name));
    }
    let json_name = field.json_name.clone().unwrap_or_else(|| default_json_name(&field.name));
    put_bytes(10, json_name.as_bytes(), &mut bytes);
    if field.shape.has_group() {
        put_varint(17, 1, &mut bytes);
    }
    bytes
}

fn put_type(element: &FieldType, package: &str, bytes: &mut Vec<u8>) {
    put_varint(5, element.number(), bytes);
    if let Some(name) = element.type_name(package) {
        put_bytes(6, name.as_bytes(), bytes);
    }
}

/// The message of one entry of a map.
fn encode_entry(field: &str, element: &FieldType, package: &str) -> Vec<u8> {
    let part = |name: &str, number: u64, element: &FieldType| {
        let mut bytes = Vec::new();
        put_bytes(1, name.as_bytes(), &mut bytes);
        put_varint(3, number, &mut bytes);
        put_varint(4, OPTIONAL, &mut bytes);
        put_type(element, package, &mut bytes);
        put_bytes(10, name.as_bytes(), &mut bytes);
        bytes
    };
    let mut bytes = Vec::new();
    put_bytes(1, entry_name(field).as_bytes(), &mut bytes);
    put_bytes(2, &part("key", 1, &FieldType::Text), &mut bytes);
    put_bytes(2, &part("value", 2, element), &mut bytes);
    // `map_entry = true`
    put_bytes(7, &[0x38, 0x01], &mut bytes);
    bytes
}

fn entry_name(field: &str) -> String {
    format!("{}Entry", pascal_case(field))
}

/// `SourceCodeInfo` with the comments, at their paths.
fn encode_comments(file: &ProtoFile) -> Vec<u8> {
    let mut info = Vec::new();
    let mut add = |path: &[u64], comment: &str| {
        if comment.is_empty() {
            return;
        }
        let mut numbers = Vec::new();
        path.iter().for_each(|number| prost::encoding::encode_varint(*number, &mut numbers));
        let mut location = Vec::new();
        put_bytes(1, &numbers, &mut location);
        put_bytes(2, &[0, 0, 0], &mut location);
        put_bytes(3, format!(" {}\n", comment.replace('\n', "\n ")).as_bytes(), &mut location);
        put_bytes(1, &location, &mut info);
    };
    for (at, message) in file.messages.iter().enumerate() {
        add(&[4, at as u64], &message.comment);
        for (field_at, field) in message.fields.iter().enumerate() {
            add(&[4, at as u64, 2, field_at as u64], &field.comment);
        }
    }
    info
}
