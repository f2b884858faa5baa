//! The first two documents that a newcomer reads stay short and in order.

use std::fs;

use super::root;

/// The most lines of ARCHITECTURE.md: a quarter of an hour. Other paths are in the README of their crate.
const ARCHITECTURE: usize = 220;

/// The sections of README.md, in the order in which a newcomer has the questions. The first answer, what the project is,
/// has no heading.
const README: &[&str] = &["Installation", "One file", "One host entry", "I have … → I run …", "Where to read on"];

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_architecture_is_read_in_one_sitting() {
    let lines = document("ARCHITECTURE.md").lines().count();
    assert!(lines <= ARCHITECTURE, "ARCHITECTURE.md has {lines} lines of {ARCHITECTURE}");
}

#[test]
fn the_readme_answers_questions_in_order() {
    let text = document("README.md");
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code
    });
    let sections: Vec<_> = prose.filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, README);
    let (beginning, _) = text.split_once("\n## ").expect("there are sections");
    assert!(beginning.lines().nth(2).is_some_and(|line| !line.is_empty()), "it begins by saying what it is");
}
