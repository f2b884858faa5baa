//! The property of `properties/schemas.rs`, for any input.
//!
//! Run with `cargo fuzz run schemas` in `crates/bsr` (on stable Rust with `RUSTC_BOOTSTRAP=1`).

#![no_main]

#[path = "../properties/schemas.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &[u8]| property::check(input));
