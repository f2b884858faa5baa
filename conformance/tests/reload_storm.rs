//! Calls that keep coming while the tool file keeps being saved: every call is answered once, by one version of the file.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use protomcp_conformance::{Host, Sandbox, eventually, tier};
use serde_json::json;

/// Item 68.
#[test]
fn a_storm_of_saves_loses_no_call_of_the_python_sdk() {
    for mode in ["graceful", "swap"] {
        storm("py/versioned.py", "versioned.py", mode, "--max-concurrent-calls=1");
    }
}

/// Items 68, 100.
#[test]
fn a_storm_of_saves_loses_no_call_of_a_concurrent_process() {
    for mode in ["graceful", "swap"] {
        storm("third_party", "tools.js", mode, "--max-concurrent-calls=8");
    }
}

/// Saves `file` again and again while calls of 50 to 500 ms are made, four at a time.
fn storm(fixture: &str, file: &str, mode: &str, concurrency: &str) {
    let (calls, saves) = tier((40, 8), (200, 50));
    let sandbox = Sandbox::new();
    sandbox.copy(fixture);
    let host = sandbox.pmcp(&["dev", file, "--hot-reload", mode, concurrency]).start();
    host.initialize();
    assert!(!host.names().is_empty());

    let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let answers: BTreeMap<u64, String> = thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut answers = Vec::new();
                    loop {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        if id >= calls {
                            return answers;
                        }
                        let ms = 50 + id * 97 % 451;
                        answers.push((id, host.text("work", &json!({"id": id, "ms": ms}))));
                    }
                })
            })
            .collect();
        let lister = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(!host.names().is_empty(), "{mode}: the list was empty for a moment");
                thread::sleep(Duration::from_millis(5));
            }
        });
        for save in 1..=saves {
            // Spread over the calls: each save waits until its share of them has been started.
            eventually("calls to be started", || {
                (next.load(Ordering::Relaxed) >= (calls * save / (saves + 1)).min(calls)).then_some(())
            });
            write_version(&sandbox, file, save);
        }
        let answers = callers.into_iter().flat_map(|caller| caller.join().expect("no caller panics")).collect();
        done.store(true, Ordering::Relaxed);
        lister.join().expect("the list was never empty");
        answers
    });

    let log = fs::read_to_string(sandbox.path("work.log")).expect("the calls have left notes");
    let mut runs: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        let (id, _) = line.split_once(' ').expect("a note is an id and a version");
        runs.entry(id.parse().expect("a number")).or_default().push(line);
    }
    for id in 0..calls {
        let answer = answers.get(&id).unwrap_or_else(|| panic!("{mode}: call {id} was not answered"));
        assert_eq!(
            runs.get(&id).map(Vec::as_slice),
            Some(&[answer.as_str()][..]),
            "{mode}: call {id} ran once, as it says"
        );
    }
    assert_one_answer_each(&host);
    let last = calls;
    eventually("the last version", || {
        let answer = host.text("work", &json!({"id": last, "ms": 0}));
        (answer == format!("{last} v{saves}")).then_some(())
    });
}

fn assert_one_answer_each(host: &Host) {
    let mut answered: BTreeMap<String, u32> = BTreeMap::new();
    for message in host.seen().iter().filter(|message| message.method().is_empty()) {
        *answered.entry(message.value["id"].to_string()).or_default() += 1;
    }
    let twice: Vec<_> = answered.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "answered more than once: {twice:?}");
}

fn write_version(sandbox: &Sandbox, file: &str, version: u64) {
    let text = fs::read_to_string(sandbox.path(file)).expect("the file is there");
    let (head, rest) = text.split_once("VERSION = \"v").expect("it names its version");
    let (_, tail) = rest.split_once('"').expect("a string ends");
    sandbox.write(file, format!("{head}VERSION = \"v{version}\"{tail}"));
}
