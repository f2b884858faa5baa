//! The property of `properties/schemas.rs`, for any input.

#![no_main]

#[path = "../properties/schemas.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &[u8]| property::check(input));
