//! Any bytes as a `SKILL.md`: the frontmatter is refused, or it is a JSON object with a name and a description that is
//! read as it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protomcp_skills::{Frontmatter, MAX_DESCRIPTION, MAX_NAME};
use serde_json::Value;

fuzz_target!(|document: &[u8]| {
    let Ok(frontmatter) = Frontmatter::read(document) else { return };
    let value: Value = serde_json::from_str(frontmatter.as_json().as_str()).expect("it is JSON");
    assert_eq!(value["name"], frontmatter.name());
    assert_eq!(value["description"], frontmatter.description());
    assert!((1..=MAX_NAME).contains(&frontmatter.name().len()));
    assert!((1..=MAX_DESCRIPTION).contains(&frontmatter.description().chars().count()));
    // Floats are read exactly: `bufmcp` asks for it.
    let again: Value = serde_json::from_str(&value.to_string()).expect("it is JSON");
    assert_eq!(value, again);
    assert_eq!(Frontmatter::read(document).as_ref(), Ok(&frontmatter));
});
