//! The official conformance suite against a server written with this library: every scenario that it has for a
//! revision, scored or not, at one URL, without a failure and without a warning.

use protomcp_conformance::{Everything, suite};

#[test]
fn the_official_suite_passes_at_all_revisions_without_a_warning() {
    suite::assert_passes(Everything::start(&[]).url(), suite::SERVER_RUNS, &[]);
}
