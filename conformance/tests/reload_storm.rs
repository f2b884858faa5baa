//! Calls that keep coming while the tool file keeps being saved: every call is answered once, by one version of the
//! file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use protomcp_conformance::{Sandbox, eventually, peers, tier};
use serde_json::json;

use crate::storm::{call_while_saving, each_ran_once, one_answer_each};

/// Item 68.
#[test]
fn a_storm_of_saves_loses_no_call_of_the_python_sdk() {
    for mode in ["graceful", "swap"] {
        storm("py/versioned.py", "versioned.py", mode, "--max-concurrent-calls=1", &[]);
    }
}

/// Item 68.
#[test]
fn a_storm_of_saves_loses_no_call_of_our_sdk_for_python() {
    let env = [("PROTOMCP_PYTHON", peers().join("sdk-python/bin/python")), ("PYTHONPATH", sdk("python/src"))];
    for mode in ["graceful", "swap"] {
        if tier(false, true) {
            // A file for the published SDK, whose calls take turns.
            storm("py/versioned.py", "versioned.py", mode, "--max-concurrent-calls=1", &env);
        }
        storm("sdk/storm.py", "storm.py", mode, "--max-concurrent-calls=8", &env);
    }
}

/// Item 68.
#[test]
fn a_storm_of_saves_loses_no_call_of_our_sdk_for_javascript() {
    for mode in ["graceful", "swap"] {
        storm("sdk/storm.mjs", "storm.mjs", mode, "--max-concurrent-calls=8", &[]);
    }
}

fn sdk(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace").join("sdk").join(part)
}

/// Items 68, 100.
#[test]
fn a_storm_of_saves_loses_no_call_of_a_concurrent_process() {
    for mode in ["graceful", "swap"] {
        storm("third_party", "tools.js", mode, "--max-concurrent-calls=8", &[]);
    }
}

/// The time that calls still run after their client has left: no call of the storm is as short. It once was the time
/// that calls of an earlier version could delay a second reload before they failed.
const DRAIN: &str = "--drain-timeout=40ms";

/// Saves `file` repeatedly while calls of 50 to 500 ms are made, four at a time, and now and then a longer one.
fn storm(fixture: &str, file: &str, mode: &str, concurrency: &str, env: &[(&str, PathBuf)]) {
    let (calls, saves) = tier((40, 5), (200, 50));
    let sandbox = Sandbox::new();
    sandbox.copy(fixture);
    // Node finds the SDK there.
    fs::create_dir(sandbox.path("node_modules")).expect("the sandbox can be written");
    symlink(sdk("typescript"), sandbox.path("node_modules/protomcp")).expect("the sandbox can be written");
    let launch = sandbox.pmcp(&["dev", file, "--hot-reload", mode, concurrency, DRAIN]);
    let host = env.iter().fold(launch, |launch, (name, value)| launch.env(*name, value.clone())).start();
    host.initialize();
    assert!(!host.names().is_empty());

    let answers = call_while_saving(&host, |version| write_version(&sandbox, file, version), calls, saves);
    each_ran_once(&answers, &sandbox);
    assert!(answers.len() as u64 >= calls, "{mode}: only {} calls were made", answers.len());
    one_answer_each(&host);
    let reloads = || host.stderr().matches("reloaded (").count() as u64;
    eventually("the log of each reload", || (reloads() >= saves).then_some(()));
    let versions: BTreeSet<&str> = answers.values().filter_map(|answer| answer.split(' ').nth(1)).collect();
    assert!(versions.len() >= 3, "{mode}: the calls ran in so few versions: {versions:?}");
    let made = answers.len();
    let last = host.text("work", &json!({"id": made, "ms": 0}));
    let states: BTreeSet<usize> =
        answers.values().filter_map(|answer| answer.split(' ').nth(2)?.parse().ok()).collect();
    let last = if states.is_empty() {
        last
    } else {
        assert!(states.iter().copied().eq(1..=made), "{mode}: each call has its own state, none is stale: {states:?}");
        last.strip_suffix(&format!(" {}", made + 1)).expect("the state of all calls").to_owned()
    };
    assert_eq!(last, format!("{made} v{saves}"), "{mode}: the last version serves");
    assert_eq!(reloads(), saves, "{mode}: each save is one reload");
}

fn write_version(sandbox: &Sandbox, file: &str, version: u64) {
    let text = fs::read_to_string(sandbox.path(file)).expect("the file is there");
    let (head, rest) = text.split_once("VERSION = \"v").expect("it names its version");
    let (_, tail) = rest.split_once('"').expect("a string ends");
    sandbox.write(file, format!("{head}VERSION = \"v{version}\"{tail}"));
}
