//! The property of `properties/messages.rs`, for any input.

#![no_main]

#[path = "../properties/messages.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &[u8]| property::check(input));
