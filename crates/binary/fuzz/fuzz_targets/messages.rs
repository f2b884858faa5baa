//! The property of `properties/messages.rs`, for any input.
//!
//! Run with `cargo fuzz run messages` in `crates/binary` (on stable Rust with `RUSTC_BOOTSTRAP=1`).

#![no_main]

#[path = "../properties/messages.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &[u8]| property::check(input));
