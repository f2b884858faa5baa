//! The property of the fuzz target `messages`, for the committed corpus and for broken variants of each entry.

#[path = "../../../fuzz/properties/messages.rs"]
mod messages;
mod variants;

/// Item 12 of the checklist: decoding frames and messages never panics.
#[test]
fn no_bytes_break_the_decoder_of_messages() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/messages");
    let checked = variants::of_files(corpus, messages::check);
    assert!(checked > 1_000, "{checked} inputs");
}
