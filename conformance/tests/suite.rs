//! The official conformance suite against a server written with this library: every scenario that it has for a
//! revision, scored or not, at one URL, without a failure and without a warning.

use protomcp_conformance::{Everything, suite};

/// The runs, and their numbers of required and of unscored scenarios. For revisions without requirements all applicable
/// scenarios run; at 2025-03-26 that is a single scenario, and the suite does not know 2024-11-05.
const RUNS: &[(&[&str], usize)] = &[
    (&["--requirements", "2025-11-25"], 30 + 3),
    (&["--requirements", "2026-07-28"], 37 + 13),
    (&["--suite", "all", "--spec-version", "2025-06-18"], 27),
    (&["--suite", "all", "--spec-version", "2025-03-26"], 1),
];

#[test]
fn the_official_suite_passes_at_all_revisions_without_a_warning() {
    let server = Everything::start(&[]);
    for (which, count) in RUNS {
        let outcome = suite::run(server.url(), which);
        assert!(outcome.success, "{which:?}: {}", outcome.text);
        assert_eq!(outcome.complaints(), "", "{which:?}");
        assert_eq!(outcome.scenarios.len(), *count, "{which:?}: {}", outcome.text);
    }
}
