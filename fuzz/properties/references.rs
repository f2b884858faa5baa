//! Any text: a reference that is accepted is written as text that is read as the same reference, and none of its parts can
//! leave the path of a request.

use protomcp_descriptors::{SchemaRef, Strictness};

/// Checks one input.
pub(crate) fn check(text: &str) {
    let Ok(reference) = SchemaRef::parse(text, Strictness::Lenient) else { return };
    let written = reference.to_string();
    assert_eq!(SchemaRef::parse(&written, Strictness::Lenient), Ok(reference));
    assert!(!written.contains("..") && !written.contains("//"), "{written}");
}
