//! Any text: a reference that is accepted is written as text that is read as the same reference, and none of its parts can
//! leave the path of a request.
//!
//! Run with `cargo fuzz run references` in `crates/bsr` (on stable Rust with `RUSTC_BOOTSTRAP=1`).

#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_bsr::{SchemaRef, Strictness};

fuzz_target!(|text: &str| {
    let Ok(reference) = SchemaRef::parse(text, Strictness::Lenient) else { return };
    let written = reference.to_string();
    assert_eq!(SchemaRef::parse(&written, Strictness::Lenient), Ok(reference));
    assert!(!written.contains("..") && !written.contains("//"), "{written}");
});
