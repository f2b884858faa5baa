//! The property of `properties/references.rs`, for any input.

#![no_main]

#[path = "../properties/references.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &str| property::check(input));
