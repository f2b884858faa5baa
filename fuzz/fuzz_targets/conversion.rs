//! Any JSON as the schema of a tool: refused or converted, and never a panic. What is converted loads, and its message
//! has a JSON Schema.
//!
//! An input that begins with `{` is the text of the schema. Any other chooses its keywords.

#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use protomcp_descriptors::convert::{Converter, FieldLock, Style, to_json_schema};
use protomcp_descriptors::{Schema, SchemaLimits};
use protomcp_fuzz::json::tool_schema;

/// Longer inputs take longer, and find nothing that short ones do not.
const LONGEST: usize = 2048;

fuzz_target!(|input: &[u8]| {
    if input.len() > LONGEST {
        return;
    }
    let schema = match input.first() {
        Some(b'{') => serde_json::from_slice(input).ok(),
        _ => tool_schema(&mut Unstructured::new(input)).ok(),
    };
    let Some(schema) = schema else { return };
    for style in [Style::Strict, Style::Seed] {
        let mut lock = FieldLock::default();
        let converter = Converter::new("fuzz.v1").expect("a package").style(style);
        let Ok(converted) = converter.convert("tool", &schema, None, &mut lock) else { continue };
        let set = Schema::decode(converted.descriptor_set(), &SchemaLimits::default()).expect("the set is sound");
        let message = set.message(converted.input_type()).expect("the input is there");
        let _ = to_json_schema(&message);
        assert_eq!(FieldLock::parse(&lock.to_text()), Ok(lock));
    }
});
