//! The property of `properties/schemas.rs`, for any input, and for sets that are well-formed.

#![no_main]

#[path = "../properties/schemas.rs"]
mod property;

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use protomcp_fuzz::descriptor_sets::descriptor_set;

/// Longer inputs take longer, and find nothing that short ones do not.
const LONGEST: usize = 2048;

fuzz_target!(|input: &[u8]| {
    match input {
        // The second byte is the upper half of a length, and none is as large: what follows chooses the parts of a set.
        [_, 0x80..=0xff, choices @ ..] => {
            let mut choices = Unstructured::new(choices);
            let Ok(set) = descriptor_set(&mut choices) else { return };
            let rest = choices.take_rest();
            let message = &rest[..rest.len().min(LONGEST)];
            property::check(&[&(message.len() as u16).to_le_bytes()[..], message, &set].concat());
        }
        _ if input.len() <= LONGEST => property::check(input),
        _ => {}
    }
});
