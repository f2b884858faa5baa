//! Any bytes as a descriptor set, and any bytes as each of its messages: refused or read, and never a panic. What is
//! read has a binary form that is read as the same message. Each message has a JSON Schema, and that schema is refused or
//! converted to a set that loads.
//!
//! The first two bytes are the length of the message behind the set.

use protomcp_descriptors::convert::{Converter, FieldLock, to_json_schema};
use protomcp_descriptors::{MessageLimits, Schema, SchemaLimits, WideIntegers};

/// Checks one input.
pub(crate) fn check(input: &[u8]) {
    let Some((len, rest)) = input.split_at_checked(2) else { return };
    let len = usize::from(u16::from_le_bytes([len[0], len[1]])).min(rest.len());
    let (message, set) = rest.split_at(len);
    let Ok(schema) = Schema::decode(set.to_vec(), &SchemaLimits::default()) else { return };
    let limits = MessageLimits::default();
    for message_type in schema.messages().take(4) {
        // A schema out of proportion is refused.
        if let Ok(json_schema) = to_json_schema(&message_type) {
            let converter = Converter::new("fuzz.v1").expect("a package");
            if let Ok(converted) = converter.convert("tool", &json_schema, None, &mut FieldLock::default()) {
                Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
            }
        }
        let Ok(read) = message_type.decode(message, &limits) else { continue };
        let again = message_type.decode(&read.encode(), &limits).expect("what was written is read");
        assert_eq!(again.encode(), read.encode());
        if let Ok(json) = read.to_json(WideIntegers::Numbers, &limits) {
            let _ = message_type.parse_json(&json, &limits);
        }
    }
}
