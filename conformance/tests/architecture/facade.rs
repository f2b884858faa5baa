//! A program that depends on `protomcp-library` alone can name every type of the workspace that it meets there.
//!
//! The facade re-exports whole crates. Their public signatures may also use types of crates below them, and those have
//! to be re-exported by one of the crates that do. Rustc's `unreachable_pub` is on, so a bare `pub` is an export.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::modules::{Crate, Foreign};
use super::tokens::{Kind, Token, tokens};
use super::{files, root};

/// A type by the name of its crate, such as `protomcp_link`, and its own.
type Name = (String, String);

#[test]
fn the_facade_reaches_the_types_of_its_signatures() {
    let whole: BTreeSet<String> = names(&reexports("protomcp_library")).map(|(package, _)| package).collect();
    assert!(whole.len() > 5, "{whole:?}");
    let foreign = whole.iter().flat_map(|package| names(&reexports(package)).collect::<Vec<_>>());
    let single: BTreeSet<Name> = foreign.filter(|(package, _)| !whole.contains(package)).collect();
    let packages: BTreeSet<&String> = whole.iter().chain(single.iter().map(|(package, _)| package)).collect();
    let mut report = String::new();
    for package in packages {
        for (owner, name) in used(package) {
            let is_seen = whole.contains(package) || single.contains(&(package.clone(), owner.clone()));
            if is_seen && !whole.contains(&name.0) && !single.contains(&name) {
                writeln!(report, "{package}::{owner} needs {}::{}", name.0, name.1).expect("a string grows");
            }
        }
    }
    assert!(report.is_empty(), "the facade does not re-export these:\n{report}");
}

/// The names that a package re-exports from other packages at its root.
fn reexports(package: &str) -> Vec<Foreign> {
    let source = source(package);
    let foreign = Crate::read(&source.join("lib.rs")).foreign();
    foreign.into_iter().filter(|name| name.is_reexport && name.file.ends_with("lib.rs")).collect()
}

fn names(foreign: &[Foreign]) -> impl Iterator<Item = Name> {
    foreign.iter().map(|name| (name.path[0].clone(), name.path[name.path.len() - 1].clone()))
}

/// The types of the workspace in the public signatures of a package, each with the item that it belongs to.
fn used(package: &str) -> BTreeSet<(String, Name)> {
    let read = Crate::read(&source(package).join("lib.rs"));
    let foreign = read.foreign();
    let own: BTreeSet<String> = read.exports().into_iter().collect();
    let mut used = BTreeSet::new();
    for file in files(&source(package)).into_iter().filter(|file| is_library(file)) {
        let text = fs::read_to_string(&file).expect("a source can be read");
        let code: Vec<_> = tokens(&text).into_iter().filter(|token| token.kind != Kind::Comment).collect();
        let imports: BTreeMap<&str, &Foreign> =
            foreign.iter().filter(|name| name.file == file).map(|name| (name.alias.as_str(), name)).collect();
        for (owner, signature) in signatures(&code) {
            for token in signature.iter().filter(|token| token.kind == Kind::Word) {
                let name = match imports.get(token.text) {
                    Some(name) => (name.path[0].clone(), name.path[name.path.len() - 1].clone()),
                    None if own.contains(token.text) => (package.to_owned(), token.text.to_owned()),
                    None => continue,
                };
                used.insert((owner.to_owned(), name));
            }
        }
    }
    used
}

/// A source file that is not for fuzzing or tests alone.
fn is_library(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "rs")
        && !["fuzzing", "tests"].iter().any(|name| file.ends_with(format!("{name}.rs")))
}

fn source(package: &str) -> PathBuf {
    let folder = package.strip_prefix("protomcp_").expect("all packages are named after the project");
    root().join(Path::new("crates").join(folder.replace('_', "-")).join("src"))
}

/// The public signatures of a file: each with the type that it belongs to, or its own name.
fn signatures<'a>(code: &'a [Token<'a>]) -> Vec<(&'a str, &'a [Token<'a>])> {
    let mut found = Vec::new();
    // The types whose blocks are open, with the depth of each.
    let (mut owners, mut depth): (Vec<(&str, usize)>, usize) = (Vec::new(), 0);
    for (at, token) in code.iter().enumerate() {
        match token.text {
            "{" if token.kind == Kind::Mark => depth += 1,
            "}" if token.kind == Kind::Mark => {
                depth -= 1;
                owners.retain(|(_, open)| *open < depth + 1);
            }
            "impl" | "struct" | "enum" | "trait" if token.kind == Kind::Word && begins_item(code, at) => {
                owners.extend(subject(&code[at..]).map(|name| (name, depth + 1)));
            }
            _ => {}
        }
        if token.is("pub") && code.get(at + 1).is_some_and(|next| !next.is("(")) {
            let signature = &code[at + 1..at + 1 + length(&code[at + 1..])];
            let own = signature.iter().find(|token| token.kind == Kind::Word && !KEYWORDS.contains(&token.text));
            let owner = owners.last().map(|(name, _)| *name).or(own.map(|token| token.text));
            found.extend(owner.map(|owner| (owner, signature)));
        }
    }
    found
}

const KEYWORDS: &[&str] =
    &["async", "const", "unsafe", "fn", "struct", "enum", "trait", "type", "static", "use", "mod"];

/// True if the `impl`, `struct` or other word here is not part of a type.
fn begins_item(code: &[Token<'_>], at: usize) -> bool {
    at == 0 || ["}", "{", ";", "]", "pub", ")", "unsafe"].iter().any(|before| code[at - 1].is(before))
}

/// The name of the type that a block belongs to.
fn subject<'a>(code: &[Token<'a>]) -> Option<&'a str> {
    let end = code.iter().position(|token| token.is("{") || token.is(";"))?;
    let (mut depth, mut name) = (0_usize, None);
    for (at, token) in code[..end].iter().enumerate().skip(1) {
        match token.text {
            "<" => depth += 1,
            ">" if !code[at - 1].is("-") => depth -= 1,
            "where" if depth == 0 => break,
            "for" if depth == 0 => name = None,
            text if depth == 0 && token.kind == Kind::Word => name = Some(text),
            _ => {}
        }
    }
    name
}

/// The number of tokens of the signature that begins after `pub`.
fn length(code: &[Token<'_>]) -> usize {
    let kind =
        code.iter().find(|token| !["async", "const", "unsafe"].contains(&token.text)).map_or("", |kind| kind.text);
    if matches!(kind, "use" | "mod") {
        return 0;
    }
    let is_whole = matches!(kind, "enum" | "trait");
    let is_field = !is_whole && !matches!(kind, "fn" | "struct" | "type" | "static");
    let mut open = 0_usize;
    for (at, token) in code.iter().enumerate().filter(|(_, token)| token.kind == Kind::Mark) {
        match token.text {
            "{" if !is_whole && open == 0 => return at,
            "," | "=" if is_field && open == 0 => return at,
            ";" | ")" | "}" if open == 0 => return at,
            "(" | "[" | "<" | "{" => open += 1,
            ">" if code[at - 1].is("-") || code[at - 1].is("=") => {}
            ")" | "]" | ">" | "}" => {
                open -= 1;
                if open == 0 && token.is("}") {
                    return at;
                }
            }
            _ => {}
        }
    }
    code.len()
}
