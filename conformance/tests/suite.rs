//! The official conformance suite against a server written with this library: every scenario that it has for a revision,
//! scored or not, at one URL, without a failure and without a warning.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use protomcp_conformance::{everything_server, suite};

/// What is run, and of how many scenarios it consists: those that are required and those that are not scored. For
/// revisions without requirements it is all that applies; at 2025-03-26 that is a single scenario, and the suite knows no
/// 2024-11-05.
const RUNS: &[(&[&str], usize)] = &[
    (&["--requirements", "2025-11-25"], 30 + 3),
    (&["--requirements", "2026-07-28"], 37 + 13),
    (&["--suite", "all", "--spec-version", "2025-06-18"], 27),
    (&["--suite", "all", "--spec-version", "2025-03-26"], 1),
];

#[test]
fn the_official_suite_passes_at_all_revisions_at_the_same_url_without_a_warning() {
    let server = Server::start();
    for (which, count) in RUNS {
        let outcome = suite::run(&server.url, which);
        assert!(outcome.success, "{which:?}: {}", outcome.text);
        assert_eq!(outcome.complaints(), "", "{which:?}");
        assert_eq!(outcome.scenarios.len(), *count, "{which:?}: {}", outcome.text);
    }
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
