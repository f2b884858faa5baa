//! Each public item of the SDK for tool processes occurs in an example that is compiled.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::root;

/// The sources below a folder.
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read").path());
    let mut texts = Vec::new();
    for path in entries {
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            texts.push(fs::read_to_string(path).expect("it can be read"));
        }
    }
    texts
}

/// The blocks of code in comments of documentation, or in Markdown.
fn blocks(text: &str) -> String {
    let mut code = String::new();
    // True inside a block that is compiled, false inside another one.
    let mut block = None;
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches("///").trim_start();
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(kind), None) => block = Some(matches!(kind, "" | "rust" | "no_run" | "rust,no_run")),
            (None, Some(true)) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, _) => {}
        }
    }
    code
}

/// The words of a text.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

/// The names that the face of a crate exports, and the public functions of its files.
fn public(face: &str, files: &[String]) -> BTreeSet<String> {
    let exports = face.lines().filter_map(|line| line.strip_prefix("pub use ")?.split_once("::"));
    let exported = exports.flat_map(|(_, names)| names.split([',', '{', '}', ';', ':', ' ']));
    let functions = files.iter().flat_map(|text| text.lines()).filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let rest = rest.strip_prefix("async ").or_else(|| rest.strip_prefix("const ")).unwrap_or(rest);
        rest.strip_prefix("fn ")?.split(['(', '<']).next()
    });
    exported.chain(functions).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_public_item_of_the_sdk_is_in_an_example() {
    let sdk = root().join("crates/sdk");
    let files = sources(&sdk.join("src"));
    let face = fs::read_to_string(sdk.join("src/lib.rs")).expect("it is there");
    let readme = fs::read_to_string(sdk.join("README.md")).expect("it is there");
    let examples = sources(&sdk.join("examples")).join("\n");
    let documented: String = files.iter().map(|text| blocks(text)).collect();
    let code = format!("{}{documented}{examples}", blocks(&readme));
    let (shown, items) = (words(&code), public(&face, &files));
    assert!(items.len() > 20, "the items are found: {items:?}");
    let missing: Vec<_> = items.iter().filter(|item| !shown.contains(item.as_str())).collect();
    assert!(missing.is_empty(), "no example shows {missing:?}");
}

#[test]
fn items_and_blocks_are_found() {
    let file = "/// Text.\n/// ```\n/// Known::new();\n/// ```\n/// ```text\n/// other\n/// ```\n    pub async fn wait(&self) {}\npub(crate) fn own() {}";
    assert_eq!(blocks(file), "Known::new();\n");
    let items = public("pub use known::{Known, Other};\npub use run::run;", &[file.to_owned()]);
    assert_eq!(items.iter().map(String::as_str).collect::<Vec<_>>(), ["Known", "Other", "run", "wait"]);
}
