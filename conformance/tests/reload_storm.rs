//! Calls that keep coming while the tool file keeps being saved: every call is answered once, by one version of the
//! file.

use std::collections::{BTreeMap, BTreeSet};
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

/// The time that calls still run after their client has left: no call of the storm is as short. It once was the time
/// that calls of an earlier version could delay a second reload before they failed.
const DRAIN: &str = "--drain-timeout=40ms";

/// Saves `file` repeatedly while calls of 50 to 500 ms are made, four at a time, and now and then a longer one.
fn storm(fixture: &str, file: &str, mode: &str, concurrency: &str) {
    let (calls, saves) = tier((40, 5), (200, 50));
    let sandbox = Sandbox::new();
    sandbox.copy(fixture);
    let host = sandbox.pmcp(&["dev", file, "--hot-reload", mode, concurrency, DRAIN]).start();
    host.initialize();
    assert!(!host.names().is_empty());

    let answers = call_while_saving(&host, &sandbox, file, (calls, saves));
    each_ran_once(&answers, &sandbox);
    assert!(answers.len() as u64 >= calls, "{mode}: only {} calls were made", answers.len());
    assert_one_answer_each(&host);
    let reloads = || host.stderr().matches("reloaded (").count() as u64;
    eventually("the log of each reload", || (reloads() >= saves).then_some(()));
    let versions: BTreeSet<&str> = answers.values().filter_map(|answer| answer.split(' ').nth(1)).collect();
    assert!(versions.len() >= 3, "{mode}: the calls ran in so few versions: {versions:?}");
    let made = answers.len();
    let last = host.text("work", &json!({"id": made, "ms": 0}));
    assert_eq!(last, format!("{made} v{saves}"), "{mode}: the last version serves");
    assert_eq!(reloads(), saves, "{mode}: each save is one reload");
}

/// Makes at least this many calls while the file is saved this often, and returns their answers by id.
fn call_while_saving(host: &Host, sandbox: &Sandbox, file: &str, (calls, saves): (u64, u64)) -> BTreeMap<u64, String> {
    let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut answers = Vec::new();
                    loop {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        // Calls continue until the last save has shown.
                        if id >= calls && done.load(Ordering::Relaxed) {
                            return answers;
                        }
                        let ms = if id % 10 == 3 { 1_500 } else { 50 + id * 97 % 451 };
                        answers.push((id, host.text("work", &json!({"id": id, "ms": ms}))));
                    }
                })
            })
            .collect();
        let lister = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(!host.names().is_empty(), "the list was empty for a moment");
                thread::sleep(Duration::from_millis(5));
            }
        });
        for save in 1..=saves {
            // The previous save has shown, so each one is a reload of its own; and some calls are running.
            let place = host.now();
            write_version(sandbox, file, save);
            host.list_changed(place);
            let begun = next.load(Ordering::Relaxed);
            eventually("a call to be started", || (next.load(Ordering::Relaxed) > begun).then_some(()));
        }
        eventually("so many calls", || (next.load(Ordering::Relaxed) >= calls).then_some(()));
        done.store(true, Ordering::Relaxed);
        let answers = callers.into_iter().flat_map(|caller| caller.join().expect("no caller panics")).collect();
        lister.join().expect("the list was never empty");
        answers
    })
}

/// Each call has left one note, with the version that has answered it.
fn each_ran_once(answers: &BTreeMap<u64, String>, sandbox: &Sandbox) {
    let log = fs::read_to_string(sandbox.path("work.log")).expect("the calls have left notes");
    let mut runs: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        let (id, _) = line.split_once(' ').expect("a note is an id and a version");
        runs.entry(id.parse().expect("a number")).or_default().push(line);
    }
    for (id, answer) in answers {
        let ran = runs.get(id).map(Vec::as_slice);
        assert_eq!(ran, Some(&[answer.as_str()][..]), "call {id} ran once, as it says");
    }
    let unanswered: Vec<_> = runs.keys().filter(|id| !answers.contains_key(id)).collect();
    assert!(unanswered.is_empty(), "calls were not answered: {unanswered:?}");
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
