//! Neither files of a crate nor its top-level modules import each other in a circle.
//!
//! Two may: a parent and the child it was cut into often know each other. Three or more files are one file in several
//! envelopes, and three or more modules are one folder. CONTRIBUTING.md says how to read a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::modules::{Arrow, Crate, roots};

/// The most files or modules that may import each other.
const LARGEST: usize = 2;

#[test]
fn no_three_files_import_each_other_in_a_circle() {
    check("files", |_, file| Some(file.to_path_buf()));
}

#[test]
fn no_three_modules_import_each_other_in_a_circle() {
    check("modules", top_level_module);
}

/// The top-level module that a file belongs to. The root of a crate belongs to none: it passes on the names of all.
fn top_level_module(root: &Path, file: &Path) -> Option<PathBuf> {
    let folder = root.parent()?;
    let first = file.strip_prefix(folder).ok()?.components().next()?;
    (file != root).then(|| folder.join(first).with_extension(""))
}

/// Fails on circles that are too large. `node` is the file or module that stands for a file below a root file.
fn check(kind: &str, node: impl Fn(&Path, &Path) -> Option<PathBuf>) {
    let mut report = String::new();
    for (source, root) in roots() {
        let arrows = Crate::read(&root).arrows();
        let ends = |arrow: &Arrow| Some((node(&root, &arrow.from)?, node(&root, &arrow.to)?));
        let edges: BTreeSet<_> = arrows.iter().filter_map(ends).filter(|(from, to)| from != to).collect();
        for nodes in components(&edges).into_iter().filter(|nodes| nodes.len() > LARGEST) {
            let is_inside = |(from, to): (PathBuf, PathBuf)| from != to && nodes.contains(&from) && nodes.contains(&to);
            let circle: Vec<_> = arrows.iter().filter(|arrow| ends(arrow).is_some_and(is_inside)).collect();
            report += &describe(&source, kind, &nodes, &circle);
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The sets of files or modules that reach each other along edges.
fn components(edges: &BTreeSet<(PathBuf, PathBuf)>) -> Vec<BTreeSet<PathBuf>> {
    let mut next: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().insert(to);
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

fn describe(source: &Path, kind: &str, nodes: &BTreeSet<PathBuf>, circle: &[&Arrow]) -> String {
    let short = |path: &Path| path.strip_prefix(source).unwrap_or(path).display().to_string();
    let names: Vec<_> = nodes.iter().map(|node| short(node)).collect();
    let mut text = format!("{}: {} {kind} in a circle: {}\n", source.display(), names.len(), names.join(" "));
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
