//! Descriptor sets of a fuzzer's choice, which are well-formed: no input is spent on sets that are refused for their
//! bytes. Field numbers are from `google/protobuf/descriptor.proto`.

use arbitrary::{Result, Unstructured};

/// The types that fields name: types of the set, in which some are missing, and well-known ones.
const TYPES: [&str; 12] = [
    ".f.M0",
    ".f.M1",
    ".f.M2",
    ".f.M3",
    ".f.M0.E",
    ".f.E0",
    "M1",
    ".google.protobuf.Struct",
    ".google.protobuf.Value",
    ".google.protobuf.Any",
    ".google.protobuf.Timestamp",
    ".google.protobuf.Int64Value",
];

const FIELDS: [&str; 8] = ["a", "b", "foo_bar", "fooBar", "foo_bar_2", "_a", "value", "é"];

/// The extension of `buf.validate` in the options of fields, messages and groups.
const RULES: u64 = 1159;

const MESSAGE: u64 = 11;
const ENUM: u64 = 14;

/// The bytes of a set with one file.
pub fn descriptor_set(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    put(1, b"f.proto", &mut file);
    put(2, b"f", &mut file);
    for import in ["google/protobuf/struct.proto", "google/protobuf/any.proto", "google/protobuf/timestamp.proto"] {
        if input.arbitrary()? {
            put(3, import.as_bytes(), &mut file);
        }
    }
    put(3, b"google/protobuf/wrappers.proto", &mut file);
    for number in 0..input.int_in_range(1..=4)? {
        put(4, &message(input, &format!("M{number}"), 2)?, &mut file);
    }
    if input.arbitrary()? {
        put(5, &enumeration(input, "E0")?, &mut file);
    }
    put(12, input.choose(&["proto3", "proto3", "proto2"])?.as_bytes(), &mut file);
    let mut set = Vec::new();
    put(1, &file, &mut set);
    Ok(set)
}

fn message(input: &mut Unstructured<'_>, name: &str, levels: u8) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(1, name.as_bytes(), &mut bytes);
    let groups = input.int_in_range(0..=2)?;
    for number in 1..=input.int_in_range(0..=6)? {
        put(2, &field(input, number, groups)?, &mut bytes);
    }
    if levels > 0 && input.ratio(1, 3)? {
        put(3, &message(input, "N", levels - 1)?, &mut bytes);
    }
    if levels > 0 && input.ratio(1, 3)? {
        put(3, &entry(input)?, &mut bytes);
        let mut map = plain_field("map", 20, MESSAGE, 3);
        put(6, format!(".f.{name}.MapEntry").as_bytes(), &mut map);
        put(2, &map, &mut bytes);
    }
    if input.ratio(1, 3)? {
        put(4, &enumeration(input, "E")?, &mut bytes);
    }
    for group in 0..groups {
        let mut oneof = Vec::new();
        put(1, format!("g{group}").as_bytes(), &mut oneof);
        put(8, &oneof, &mut bytes);
    }
    rules(input, 7, &mut bytes)?;
    Ok(bytes)
}

fn field(input: &mut Unstructured<'_>, number: u64, groups: u64) -> Result<Vec<u8>> {
    let name = *input.choose(&FIELDS)?;
    let kind = input.int_in_range(1..=18)?;
    let mut bytes = plain_field(name, number, kind, *input.choose(&[1, 1, 3])?);
    if kind == MESSAGE || kind == ENUM {
        put(6, input.choose(&TYPES)?.as_bytes(), &mut bytes);
    }
    if groups > 0 && input.arbitrary()? {
        put_number(9, input.int_in_range(0..=groups - 1)?, &mut bytes);
    }
    if input.ratio(1, 4)? {
        put(10, input.choose(&FIELDS)?.as_bytes(), &mut bytes);
    }
    if input.ratio(1, 8)? {
        put_number(17, 1, &mut bytes);
    }
    rules(input, 8, &mut bytes)?;
    Ok(bytes)
}

/// The entry of a map, which may lack a part.
fn entry(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(1, b"MapEntry", &mut bytes);
    for (name, number) in [("key", 1), ("value", 2)] {
        if !input.ratio(1, 16)? {
            put(2, &plain_field(name, number, *input.choose(&[9, 9, 9, 3, 5, 8, 1, 12])?, 1), &mut bytes);
        }
    }
    let mut options = Vec::new();
    put_number(7, 1, &mut options);
    put(7, &options, &mut bytes);
    Ok(bytes)
}

fn enumeration(input: &mut Unstructured<'_>, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(1, name.as_bytes(), &mut bytes);
    for number in 0..input.int_in_range(0..=3)? {
        let mut value = Vec::new();
        put(1, format!("{name}_{number}").as_bytes(), &mut value);
        put_number(2, number, &mut value);
        put(2, &value, &mut bytes);
    }
    Ok(bytes)
}

/// Options that may have any rules.
fn rules(input: &mut Unstructured<'_>, number: u64, bytes: &mut Vec<u8>) -> Result<()> {
    if input.ratio(1, 4)? {
        let len = input.int_in_range(0..=24_usize)?;
        let mut options = Vec::new();
        put(RULES, input.bytes(len.min(input.len()))?, &mut options);
        put(number, &options, bytes);
    }
    Ok(())
}

fn plain_field(name: &str, number: u64, kind: u64, label: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(1, name.as_bytes(), &mut bytes);
    for (field, value) in [(3, number), (4, label), (5, kind)] {
        put_number(field, value, &mut bytes);
    }
    bytes
}

fn put(number: u64, value: &[u8], bytes: &mut Vec<u8>) {
    varint(number << 3 | 2, bytes);
    varint(value.len() as u64, bytes);
    bytes.extend_from_slice(value);
}

fn put_number(number: u64, value: u64, bytes: &mut Vec<u8>) {
    varint(number << 3, bytes);
    varint(value, bytes);
}

fn varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
