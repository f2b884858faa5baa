//! Calls that keep coming while versions of their server take each other's place, and the notes that they leave.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use protomcp_conformance::{Host, Sandbox, eventually};
use serde_json::json;

/// Makes at least this many calls, four at a time, while `save` makes this many versions; returns the answers by id.
pub(crate) fn call_while_saving(host: &Host, save: impl Fn(u64), calls: u64, saves: u64) -> BTreeMap<u64, String> {
    let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        // If a save does not show, the other threads end, too.
        let ended = Ended(&done);
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
        for version in 1..=saves {
            // The previous save has shown, so each one is its own reload; and some calls are running.
            let place = host.now();
            save(version);
            host.list_changed(place);
            let begun = next.load(Ordering::Relaxed);
            eventually("a call to be started", || (next.load(Ordering::Relaxed) > begun).then_some(()));
        }
        eventually("enough calls", || (next.load(Ordering::Relaxed) >= calls).then_some(()));
        drop(ended);
        let answers = callers.into_iter().flat_map(|caller| caller.join().expect("no caller panics")).collect();
        lister.join().expect("the list was never empty");
        answers
    })
}

/// Says on drop that calls need not continue.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each call has left one note, with the version that has answered it.
pub(crate) fn each_ran_once(answers: &BTreeMap<u64, String>, sandbox: &Sandbox) {
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

/// No request has two answers.
pub(crate) fn one_answer_each(host: &Host) {
    let mut answered: BTreeMap<String, u32> = BTreeMap::new();
    for message in host.seen().iter().filter(|message| message.method().is_empty()) {
        *answered.entry(message.value["id"].to_string()).or_default() += 1;
    }
    let twice: Vec<_> = answered.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "answered more than once: {twice:?}");
}
