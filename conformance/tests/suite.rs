//! The official conformance suite against a server written with this library: every required scenario of both revisions
//! that have requirements, at one URL, without a failure and without a warning.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use protomcp_conformance::{everything_server, peers};
use serde_json::Value;

/// Scenarios that the suite does not score, and that are not passed yet, by revision.
const NOT_YET: &[(&str, &str)] = &[("2026-07-28", "tasks-")];

#[test]
fn the_official_suite_passes_at_both_revisions_at_the_same_url_without_a_warning() {
    let server = Server::start();
    for (revision, required) in [("2025-11-25", 30), ("2026-07-28", 37)] {
        let folder = tempfile::tempdir().expect("a folder for the results");
        let output = Command::new(suite("node"))
            .arg(suite("conformance"))
            .args(["server", "--url", &server.url, "--requirements", revision, "-o"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the suite starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{revision}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        let mut passed = 0;
        let mut complaints = Vec::new();
        for (scenario, checks) in scenarios(folder.path()) {
            if NOT_YET.iter().any(|(of, prefix)| *of == revision && scenario.starts_with(prefix)) {
                continue;
            }
            passed += 1;
            let bad = checks.iter().filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")));
            complaints.extend(bad.map(|check| format!("{scenario}: {check:#}")));
        }
        assert!(complaints.is_empty(), "{revision}: {}", complaints.join("\n"));
        assert!(passed >= required, "{revision}: {passed} scenarios ran, {required} are required: {text}");
    }
}

/// What each scenario has checked.
fn scenarios(folder: &Path) -> BTreeMap<String, Vec<Value>> {
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
        found.insert(scenario.to_owned(), checks);
    }
    found
}

fn suite(program: &str) -> PathBuf {
    let path = peers().join("suite/node_modules/.bin").join(program);
    assert!(path.exists(), "please run scripts/setup suite first");
    path
}

/// The server under test, on a port of its own.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(everything_server())
            .args(["--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut said = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        let line = said.next().expect("the server says where it listens").expect("its words are UTF-8");
        let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("no URL: {line}")).to_owned();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
