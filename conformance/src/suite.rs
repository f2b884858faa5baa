//! The official conformance suite, run against a server at a URL or against a client program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::programs::peers;
use protomcp_testing::patience;

/// A run of the suite, and its numbers of required and of unscored scenarios.
#[derive(Debug)]
pub struct Run {
    /// The scenarios, as options of the suite.
    pub which: &'static [&'static str],
    /// The revision.
    pub revision: &'static str,
    /// The number of required scenarios; all, for revisions without requirements.
    pub required: usize,
    /// The number of other scenarios.
    pub others: usize,
}

/// All runs against a client. For revisions without requirements all applicable scenarios run; the suite does not know
/// 2024-11-05.
pub const CLIENT_RUNS: &[Run] = &[
    Run { which: &["--requirements", "2025-11-25"], revision: "2025-11-25", required: 18, others: 7 },
    Run { which: &["--requirements", "2026-07-28"], revision: "2026-07-28", required: 32, others: 7 },
    Run { which: &["--suite", "all", "--spec-version", "2025-06-18"], revision: "2025-06-18", required: 5, others: 0 },
    Run { which: &["--suite", "all", "--spec-version", "2025-03-26"], revision: "2025-03-26", required: 2, others: 0 },
];

/// All runs against a server, of which the first two have requirements. At 2025-03-26 one scenario applies.
pub const SERVER_RUNS: &[Run] = &[
    Run { which: &["--requirements", "2025-11-25"], revision: "2025-11-25", required: 30, others: 3 },
    Run { which: &["--requirements", "2026-07-28"], revision: "2026-07-28", required: 37, others: 13 },
    Run { which: &["--suite", "all", "--spec-version", "2025-06-18"], revision: "2025-06-18", required: 27, others: 0 },
    Run { which: &["--suite", "all", "--spec-version", "2025-03-26"], revision: "2025-03-26", required: 1, others: 0 },
];

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
    /// The standard error of the clients that wrote to it, by scenario. None for runs against a server.
    pub client_errors: BTreeMap<String, String>,
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

/// Checks that all scenarios of these runs pass at a server, required or not, without a warning.
///
/// # Panics
///
/// If one has a complaint, except these, or did not run.
#[track_caller]
pub fn assert_passes(url: &str, runs: &[Run], except: &[&str]) {
    for Run { which, revision, required, others } in runs {
        let outcome = run(url, which);
        assert_eq!(outcome.scenarios.len(), required + others, "{revision}: {}", outcome.text);
        assert_eq!(outcome.not_scored.len(), *others, "{revision}: {}", outcome.text);
        let failed: Vec<_> = outcome.failed().into_iter().filter(|name| !except.contains(name)).collect();
        assert_eq!(failed, Vec::<&str>::new(), "{revision}: {}", outcome.complaints());
        assert!(outcome.success || !except.is_empty(), "{revision}: {}", outcome.text);
    }
}

/// Runs the scenarios of the suite that `which` selects against a server.
///
/// # Panics
///
/// If the suite is not installed or writes nothing.
pub fn run(url: &str, which: &[&str]) -> Outcome {
    run_role(&["server", "--url", url], which)
}

/// Runs the scenarios of the suite that `which` selects against a client: the suite starts the program once for each
/// scenario, with these options and the URL of a server.
///
/// # Panics
///
/// Like [`run`].
pub fn run_client(program: &Path, options: &[&str], which: &[&str]) -> Outcome {
    let program = program.to_str().expect("a path in UTF-8");
    let command = [&[program], options].concat().join(" ");
    run_role(&["client", "--command", &command], which)
}

fn run_role(role: &[&str], which: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder for the results");
    let output = Command::new(program("node"))
        .arg(program("conformance"))
        .args(role)
        .args(which)
        // A scenario has 30 s by default, and those for clients all run concurrently.
        .args(["--timeout", &patience().as_millis().to_string()])
        .arg("-o")
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the suite starts");
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let text = format!("{}\n{}", said(&output.stdout), said(&output.stderr));
    let not_scored = not_scored(&text);
    let (mut scenarios, mut client_errors) = (BTreeMap::new(), BTreeMap::new());
    for (scenario, results) in results(folder.path()) {
        scenarios.insert(scenario.clone(), complaints(&scenario, &results));
        let said = fs::read_to_string(results.join("stderr.txt")).unwrap_or_default();
        if !said.is_empty() {
            client_errors.insert(scenario, said);
        }
    }
    Outcome { success: output.status.success(), text, scenarios, not_scored, client_errors }
}

/// The suite ends with lines of a mark, a name and a reason.
fn not_scored(text: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("Not scored for")).skip(1);
    let names = lines.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().nth(1));
    names.map(str::to_owned).collect()
}

/// The folder of each scenario. Names of scenarios can have a slash, as `auth/dpop`.
fn results(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the results can be read") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if !path.join("checks.json").exists() {
                folders.push((format!("{prefix}{name}/"), path));
                continue;
            }
            // `server-<scenario>-<year>-<month>-<day>T<time>`, without `server-` for clients
            let name = name.strip_prefix("server-").unwrap_or(&name);
            let day = name.rfind('T').unwrap_or(name.len());
            found.insert(format!("{prefix}{}", &name[..day.saturating_sub("-2026-07-28".len())]), path);
        }
    }
    found
}

fn complaints(scenario: &str, results: &Path) -> Vec<String> {
    let checks = fs::read_to_string(results.join("checks.json")).expect("the checks can be read");
    let checks: Vec<Value> = serde_json::from_str(&checks).expect("checks are JSON");
    let bad = checks.iter().filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")));
    bad.map(|check| format!("{scenario}: {check:#}")).collect()
}

fn program(name: &str) -> PathBuf {
    let path = peers().join("suite/node_modules/.bin").join(name);
    assert!(path.exists(), "please run scripts/setup suite first");
    path
}
