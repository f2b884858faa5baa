//! The official conformance suite against a client written with this library: every scenario that it has for a
//! revision, scored or not, without a failure and without a warning. The suite has its own servers, and starts the
//! client once for each scenario, all at the same time.

use protomcp_conformance::everything_client;
use protomcp_conformance::suite::{CLIENT_RUNS, Run, run_client};

/// The scenarios whose servers no client may trust, and what this one says about them. In all others it must succeed,
/// which the suite itself does not demand.
const REFUSALS: &[(&str, &str)] = &[
    ("auth/iss-normalized", "authorization stopped: the redirect is of the issuer"),
    ("auth/iss-supported-missing", "authorization stopped: the redirect does not name its issuer"),
    ("auth/iss-unexpected", "authorization stopped: the redirect is of the issuer \"https://evil.example.com\""),
    ("auth/iss-wrong-issuer", "authorization stopped: the redirect is of the issuer \"https://evil.example.com\""),
    ("auth/metadata-issuer-mismatch", "authorization stopped"),
    ("auth/resource-mismatch", "authorization stopped"),
    ("auth/scope-retry-limit", "the MCP server still asks for more after authorization"),
];

#[test]
fn the_official_suite_passes_at_all_revisions_without_a_warning() {
    check(&[]);
}

#[test]
fn a_client_that_finds_the_era_out_by_itself_passes_too() {
    check(&["--auto"]);
}

fn check(options: &[&str]) {
    for Run { which, required, others, .. } in CLIENT_RUNS {
        let outcome = run_client(&everything_client(), options, which);
        assert!(outcome.success, "{which:?}: {}", outcome.text);
        assert_eq!(outcome.complaints(), "", "{which:?}");
        assert_eq!(outcome.scenarios.len(), required + others, "{which:?}: {}", outcome.text);
        assert_eq!(outcome.not_scored.len(), *others, "{which:?}: {}", outcome.text);
        assert!(!outcome.text.contains("timed out"), "{which:?}: {}", outcome.text);
        for (scenario, said) in &outcome.client_errors {
            let expected = REFUSALS.iter().find(|(name, _)| name == scenario);
            assert!(expected.is_some_and(|(_, text)| said.contains(text)), "{which:?}: {scenario}: {said}");
        }
        let refused = REFUSALS.iter().filter(|(name, _)| outcome.scenarios.contains_key(*name)).count();
        assert_eq!(outcome.client_errors.len(), refused, "{which:?}: {:?}", outcome.client_errors);
    }
}
