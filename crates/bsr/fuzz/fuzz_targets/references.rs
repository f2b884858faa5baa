//! The property of `properties/references.rs`, for any input.
//!
//! Run with `cargo fuzz run references` in `crates/bsr` (on stable Rust with `RUSTC_BOOTSTRAP=1`).

#![no_main]

#[path = "../properties/references.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|input: &str| property::check(input));
