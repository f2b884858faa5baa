//! The official conformance suite, run against a server at a URL.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::programs::peers;

/// The results of a run.
#[derive(Debug)]
pub struct Outcome {
    /// True if the suite reports success.
    pub success: bool,
    /// The output of the suite.
    pub text: String,
    /// Failures and warnings, by scenario.
    pub scenarios: BTreeMap<String, Vec<String>>,
    /// Scenarios that were run but are not required.
    pub not_scored: BTreeSet<String>,
}

impl Outcome {
    /// The scenarios with complaints.
    pub fn failed(&self) -> Vec<&str> {
        self.scenarios.iter().filter(|(_, complaints)| !complaints.is_empty()).map(|(name, _)| name.as_str()).collect()
    }

    /// All complaints.
    pub fn complaints(&self) -> String {
        self.scenarios.values().flatten().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Runs the scenarios of the suite that `which` selects.
///
/// # Panics
///
/// If the suite is not installed or writes nothing.
pub fn run(url: &str, which: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder for the results");
    let output = Command::new(program("node"))
        .arg(program("conformance"))
        .args(["server", "--url", url])
        .args(which)
        .arg("-o")
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the suite starts");
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let text = format!("{}\n{}", said(&output.stdout), said(&output.stderr));
    let not_scored = not_scored(&text);
    Outcome { success: output.status.success(), text, scenarios: scenarios(folder.path()), not_scored }
}

/// The suite ends with lines of a mark, a name and a reason.
fn not_scored(text: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("Not scored for")).skip(1);
    let names = lines.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().nth(1));
    names.map(str::to_owned).collect()
}

/// The complaints of each scenario.
fn scenarios(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the results can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let checks = fs::read_to_string(path.join("checks.json")).expect("a scenario writes its checks");
        let checks: Vec<Value> = serde_json::from_str(&checks).expect("checks are JSON");
        // `server-<scenario>-<year>-<month>-<day>T<time>`
        let name = name.strip_prefix("server-").unwrap_or(&name);
        let day = name.rfind('T').unwrap_or(name.len());
        let scenario = &name[..day.saturating_sub("-2026-07-28".len())];
        let bad = checks.iter().filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")));
        found.insert(scenario.to_owned(), bad.map(|check| format!("{scenario}: {check:#}")).collect());
    }
    found
}

fn program(name: &str) -> PathBuf {
    let path = peers().join("suite/node_modules/.bin").join(name);
    assert!(path.exists(), "please run scripts/setup suite first");
    path
}
