//! The rules of the workspace about its own shape.

mod circles;
mod doc_examples;
mod documents;
mod facade;
mod imports;
mod modules;
mod phrases;
mod sizes;
pub(crate) mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Packages without I/O, and the features with which they are so.
const PURE: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("envelope", &[]),
    ("fair", &[]),
    ("toollist", &[]),
    ("descriptors", &["--no-default-features"]),
    ("schema", &["--all-features"]),
    ("wire", &[]),
    ("codec", &[]),
    ("session", &[]),
    ("link", &["--no-default-features"]),
    ("auth", &["--no-default-features", "--features", "jwt"]),
    ("oauth", &["--no-default-features", "--features", "flow"]),
];

/// Crates that a package without I/O does not use.
const IMPURE: &[&str] = &["tokio", "mio", "notify", "hyper"];

/// The maximum number of lines, so that a file stays readable.
const LONGEST: usize = 450;

#[test]
fn dependencies_match_the_document() {
    let mut manifests = BTreeMap::new();
    for (package, dependencies) in edges() {
        let normal = dependencies.into_iter().filter(|(_, kind)| kind != "dev").map(|(dependency, _)| dependency);
        manifests.insert(package, normal.collect::<BTreeSet<_>>());
    }
    let documented: BTreeMap<_, _> =
        house().into_iter().map(|(name, room)| (name, room.uses.into_iter().collect())).collect();
    assert_eq!(manifests, documented, "Cargo.toml files on the left, the table of ARCHITECTURE.md on the right");
}

#[test]
fn dependencies_point_down() {
    let house = house();
    for (package, dependencies) in edges() {
        let floor = house[&package].floor;
        for (dependency, kind) in dependencies {
            let below = house[&dependency].floor;
            // Tests may use a package on their own floor, for the other end of a connection.
            let points_down = if kind == "dev" { below <= floor } else { below < floor };
            assert!(points_down, "{package} (floor {floor}) has a {kind} dependency on {dependency} (floor {below})");
        }
    }
}

#[test]
fn pure_packages_pull_in_no_io() {
    for (package, features) in PURE {
        let name = format!("protomcp-{package}");
        let mut args = vec!["tree", "--quiet", "--edges", "normal", "--prefix", "none", "--package", &name];
        args.extend(*features);
        let tree = cargo(&args);
        let found: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(found.contains(name.as_str()), "cargo tree shows {name} itself: {tree}");
        let impure: Vec<_> = IMPURE.iter().filter(|name| found.contains(*name)).collect();
        assert!(impure.is_empty(), "{package} is meant to be without I/O but pulls in {impure:?}");
    }
}

#[test]
fn every_source_file_starts_with_its_reason() {
    let has_readme = |path: &Path, text: &str| {
        let documented = r#"doc = include_str!("../README.md")"#;
        path.ends_with("src/lib.rs") && text.contains(documented) && path.with_file_name("../README.md").exists()
    };
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|(path, text)| !text.starts_with("//! ") && !has_readme(path, text))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "without a `//!` head or a README: {silent:#?}");
}

/// A file that no program names would be read as a test, and never run.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let read = |path: &Path| fs::read_to_string(path).expect("it can be read");
    let mut count = 0;
    for path in files(&root()).iter().filter(|path| path.ends_with("Cargo.toml")) {
        let manifest = read(path);
        if !manifest.contains("\nautotests = false\n") {
            continue;
        }
        let all = files(&path.with_file_name("tests"));
        let sources: Vec<_> = all.iter().filter(|path| path.extension().is_some_and(|it| it == "rs")).collect();
        let texts: Vec<_> = sources.iter().map(|path| read(path)).collect();
        for path in &sources {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("it is text");
            let is_module = texts.iter().any(|text| text.contains(&format!("mod {name};\n")));
            let is_program = manifest.contains(&format!("path = \"tests/{name}.rs\""));
            assert!(is_module || is_program, "{}", path.display());
        }
        count += sources.len();
    }
    assert!(count > 300, "{count} files");
}

#[test]
fn no_source_file_exceeds_the_line_limit() {
    let long: Vec<_> = sources()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST} lines: {long:#?}");
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    // Assembled here, so that this file does not contain them itself.
    let places = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["/ho", "me/"].concat()];
    let mut guilty = Vec::new();
    for path in files(&root()) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            if places.iter().any(|place| mentions(line, place)) {
                guilty.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(guilty.is_empty(), "{guilty:#?}");
}

/// `place` as the start of a path, not inside a longer one such as `target/work/`.
fn mentions(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/._-}".contains(c))
    })
}

/// A package in ARCHITECTURE.md.
struct Room {
    floor: usize,
    uses: Vec<String>,
}

/// The packages of ARCHITECTURE.md: floors from the map, dependencies from the table below it.
fn house() -> BTreeMap<String, Room> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let (_, map) = text.split_once("## Map").expect("there is a map");
    let (map, _) = map.split_once("\n## ").expect("a section follows the map");
    let mut floors = BTreeMap::new();
    for line in map.lines().filter_map(|line| line.strip_prefix("floor ")) {
        let line = line.split('#').next().expect("a split has a first part");
        let (floor, names) = line.split_once(' ').expect("a floor has packages");
        let floor: usize = floor.parse().expect("floors are numbered");
        // The name of a program stands in brackets behind its package.
        for name in names.split_whitespace().filter(|name| !name.starts_with('(')) {
            floors.insert(name.to_owned(), floor);
        }
    }
    let mut house = BTreeMap::new();
    for row in map.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, uses] = cells[..] else { panic!("a row of the table has three cells: {row}") };
        let name = name.trim_matches('`').to_owned();
        let uses = uses.split(", ").filter(|used| *used != "–").map(str::to_owned).collect();
        let floor = *floors.get(&name).unwrap_or_else(|| panic!("{name} is on no floor of the map"));
        house.insert(name, Room { floor, uses });
    }
    assert_eq!(house.keys().collect::<Vec<_>>(), floors.keys().collect::<Vec<_>>(), "rows and map name the same");
    house
}

/// Our packages, without the common prefix, and what each depends on with the kind of dependency.
fn edges() -> BTreeMap<String, Vec<(String, String)>> {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1", "--quiet"]))
        .expect("cargo metadata prints JSON");
    let ours = |name: &Value| name.as_str().and_then(|name| name.strip_prefix("protomcp-")).map(str::to_owned);
    let packages = metadata["packages"].as_array().expect("packages is an array");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies is an array");
            let dependencies = dependencies.iter().filter_map(|dependency| {
                let kind = dependency["kind"].as_str().unwrap_or("normal").to_owned();
                Some((ours(&dependency["name"])?, kind))
            });
            (ours(&package["name"]).expect("our packages share a prefix"), dependencies.collect())
        })
        .collect()
}

fn cargo(args: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(args).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "cargo {args:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

/// Every Rust file that people write, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let written = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "rs") && !path.components().any(|p| p.as_os_str() == "gen")
    };
    let found: Vec<_> = files(&root())
        .into_iter()
        .filter(written)
        .map(|path| {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            (path, text)
        })
        .collect();
    assert!(found.len() > 500, "the sources are found: {}", found.len());
    found
}

/// Every file below `folder` that is not a product of building or testing.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the workspace can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        let is_made = ["node_modules", "__pycache__", "artifacts", "bench-results", "build"].contains(&name.as_str());
        // Tools keep what they remember in hidden folders, and other tests run them now.
        let is_hidden = name.starts_with('.') && name != ".ci" && path.is_dir();
        // A source may be called target.rs.
        let is_output = path.is_dir() && (name.starts_with("target") || name.starts_with("mutants.out"));
        if is_made || is_hidden || is_output || name == ".git" {
            continue;
        }
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the workspace").to_path_buf()
}
