//! The properties of the fuzz targets `references` and `schemas`, for the committed corpora and for broken variants of
//! each entry.

#[path = "../../../fuzz/properties/references.rs"]
mod references;
#[path = "../../../fuzz/properties/schemas.rs"]
mod schemas;
#[path = "../../bufmcp/tests/fuzzed/variants.rs"]
mod variants;

/// Item 12 of the checklist: reading references never panics.
#[test]
fn no_text_breaks_the_reader_of_references() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/references");
    let checked = variants::of_files(corpus, |input| references::check(&String::from_utf8_lossy(input)));
    assert!(checked > 1_000, "{checked} inputs");
}

/// Item 12 of the checklist: loading descriptor sets and reading their messages never panics.
#[test]
fn no_bytes_break_the_loader_of_descriptor_sets() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/schemas");
    let checked = variants::of_files(corpus, schemas::check);
    assert!(checked > 1_000, "{checked} inputs");
}
