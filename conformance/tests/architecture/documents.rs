//! The first two documents that a newcomer reads stay short and in order, and features that MCP deprecates say so.

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

/// Files, and the lines of their items that MCP 2026-07-28 deprecates.
const DEPRECATED: &[(&str, &str)] = &[
    ("crates/types/src/sampling.rs", "pub struct CreateMessage {"),
    ("crates/types/src/roots.rs", "pub struct ListRoots {"),
    ("crates/server/src/call/context.rs", "    pub fn log(&self"),
    ("sdk/python/src/protomcp/questions.py", "class Sample("),
    ("sdk/python/src/protomcp/questions.py", "class Roots("),
    ("sdk/python/src/protomcp/log.py", "class ServerLogger:"),
    ("sdk/typescript/src/types.ts", "export interface SampleOptions"),
    ("sdk/typescript/src/types.ts", "export interface Root "),
    ("sdk/typescript/src/types.ts", "export interface Log "),
];

/// The words stand in the comment above an item, or in Python in the text below its name.
#[test]
fn deprecated_features_of_mcp_say_so() {
    for (file, item) in DEPRECATED {
        let text = document(file);
        let lines: Vec<_> = text.lines().collect();
        let at = lines.iter().position(|line| line.starts_with(item)).unwrap_or_else(|| panic!("{file}: no {item}"));
        let near = if file.ends_with(".py") { at..at + 12 } else { at.saturating_sub(12)..at };
        let says = lines[near].iter().any(|line| line.contains("MCP 2026-07-28 deprecates"));
        assert!(says, "{file}: {item} does not say that it is deprecated");
    }
}
