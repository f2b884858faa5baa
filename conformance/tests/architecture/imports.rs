//! An import names the module that defines a name, not one that passes it on.
//!
//! A module that passes names on is a face, as `lib.rs` is for the users of a crate. Inside the crate it hides the arrow
//! from one file to another. Re-exports and tests may use one.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::modules::{Crate, Detour, roots};

/// The imports of a crate that go through a face, with paths from this folder.
fn detours(folder: &Path, root: &Path) -> String {
    let short = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let mut report = String::new();
    for Detour { file, line, path, definer } in Crate::read(root).detours() {
        let definer = definer.map_or_else(|| "elsewhere".to_owned(), |definer| format!("in {}", short(&definer)));
        writeln!(report, "{}:{line}: {path} is defined {definer}", short(&file)).expect("a string grows");
    }
    report
}

#[test]
fn no_import_goes_through_a_face() {
    let report: String = roots().iter().map(|(_, root)| detours(&super::root(), root)).collect();
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn imports_through_a_face_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("lib.rs", "mod shapes;\nmod user;\npub use shapes::Circle;\n"),
        (
            "shapes.rs",
            "pub(crate) mod round;\nmod other { pub struct Line; }\nuse std::fmt;\nuse other::*;\npub use round::Circle;\n",
        ),
        ("shapes/round.rs", "pub struct Circle;\npub enum Kind { Flat }\nmacro_rules! of { () => {} }\n"),
        (
            "user.rs",
            "use crate::Circle;\nuse crate::shapes::Circle as Round;\nuse crate::shapes::{Line, fmt};\n\
             use crate::shapes::round;\nuse crate::shapes::round::{Circle as Direct, Kind::Flat, Made};\n\
             #[cfg(test)]\nmod tests { use crate::Circle; }\n",
        ),
    ];
    fs::create_dir(folder.path().join("shapes")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let found = detours(folder.path(), &folder.path().join("lib.rs"));
    let expected = [
        "user.rs:1: crate::Circle is defined in shapes/round.rs",
        "user.rs:2: crate::shapes::Circle is defined in shapes/round.rs",
        "user.rs:3: crate::shapes::Line is defined in shapes.rs",
        "user.rs:3: crate::shapes::fmt is defined elsewhere",
    ];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}
