//! No files of a crate import each other in a circle.
//!
//! Two files may: a parent and the child it was cut into often know each other. Three or more are one file in several
//! envelopes. CONTRIBUTING.md says how to read a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::modules::{Arrow, Crate};
use super::root;

/// The most files that may import each other.
const LARGEST: usize = 2;

#[test]
fn no_three_files_import_each_other_in_a_circle() {
    let mut report = String::new();
    for package in packages() {
        report.extend(circles(&package).iter().map(|circle| describe(&package, circle)));
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The folders that hold a package of the workspace with sources.
fn packages() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).expect("there are crates");
    let mut packages: Vec<_> = crates.map(|entry| entry.expect("an entry can be read").path()).collect();
    packages.extend(["cli", "conformance", "benches", "benches/instructions"].map(|name| root().join(name)));
    packages.retain(|package| package.join("src").is_dir());
    assert!(packages.len() > 20, "the packages are found: {packages:?}");
    packages.sort();
    packages
}

/// The arrows of each circle of a package that is too large.
fn circles(package: &Path) -> Vec<BTreeSet<Arrow>> {
    let mut circles = Vec::new();
    for root in roots(&package.join("src")) {
        let arrows = Crate::read(&root).arrows();
        for files in components(&arrows).into_iter().filter(|files| files.len() > LARGEST) {
            let inside = |arrow: &&Arrow| files.contains(&arrow.from) && files.contains(&arrow.to);
            circles.push(arrows.iter().filter(inside).cloned().collect());
        }
    }
    circles
}

/// The files that a compiler starts from.
fn roots(source: &Path) -> Vec<PathBuf> {
    let mut roots = vec![source.join("lib.rs"), source.join("main.rs")];
    if let Ok(programs) = fs::read_dir(source.join("bin")) {
        for program in programs.map(|entry| entry.expect("an entry can be read").path()) {
            roots.push(if program.is_dir() { program.join("main.rs") } else { program });
        }
    }
    roots.retain(|root| root.exists());
    roots
}

/// The sets of files that reach each other along arrows.
fn components(arrows: &BTreeSet<Arrow>) -> Vec<BTreeSet<PathBuf>> {
    let mut next: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let reach = |from: &Path| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_path_buf()]);
        while let Some(file) = open.pop() {
            for to in next.get(file.as_path()).into_iter().flatten() {
                if seen.insert(to.to_path_buf()) {
                    open.push(to.to_path_buf());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<PathBuf, BTreeSet<PathBuf>> =
        next.keys().map(|from| (from.to_path_buf(), reach(from))).collect();
    let mut components = BTreeSet::new();
    for (file, seen) in reached.iter().filter(|(file, seen)| seen.contains(*file)) {
        let back = |other: &&PathBuf| reached.get(*other).is_some_and(|seen| seen.contains(file));
        components.insert(seen.iter().filter(back).cloned().collect::<BTreeSet<_>>());
    }
    components.into_iter().collect()
}

fn describe(package: &Path, circle: &BTreeSet<Arrow>) -> String {
    let source = package.join("src");
    let short = |path: &Path| path.strip_prefix(&source).unwrap_or(path).display().to_string();
    let files: BTreeSet<_> = circle.iter().map(|arrow| short(&arrow.from)).collect();
    let mut text =
        format!("{}: {} files in a circle: {}\n", source.display(), files.len(), Vec::from_iter(files).join(" "));
    let mut arrows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for Arrow { from, to, line, path } in circle {
        arrows.entry((short(from), short(to))).or_default().push((*line, path));
    }
    for ((from, to), uses) in arrows {
        let line = uses.iter().map(|(line, _)| line).min().expect("an arrow has a use");
        let names: BTreeSet<_> = uses.iter().map(|(_, path)| name(path)).collect();
        let names = Vec::from_iter(names).join(", ");
        writeln!(text, "    {from} → {to}: {names} (line {line})").expect("a string grows");
    }
    text
}

/// The type or function in a path, without a variant or associated function behind it.
fn name(path: &str) -> &str {
    let parts = path.split("::");
    let is_type = |part: &&str| part.starts_with(char::is_uppercase);
    parts.clone().find(is_type).or(parts.last()).expect("a split has a part")
}
