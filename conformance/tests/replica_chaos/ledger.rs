//! The calls as the clients have seen them, and as the tool has noted them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The notes of all clients.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The end has come: no further call.
    pub(crate) is_over: AtomicBool,
    /// The number of times that the store has lost its data.
    pub(crate) losses: AtomicUsize,
    /// The number of disturbances.
    pub(crate) disturbances: AtomicUsize,
    /// The answered calls of each client.
    answered: Mutex<HashMap<String, Vec<String>>>,
    /// The numbers of calls that failed, by the reason.
    failed: Mutex<BTreeMap<String, usize>>,
    /// The faults.
    faults: Mutex<Vec<String>>,
    /// The latest response to each client by hand, and what each official one in Python has begun.
    latest: Mutex<HashMap<String, String>>,
}

impl Ledger {
    /// A call has its answer, after these steps of several.
    pub(crate) fn answered(&self, client: &str, call: &str, steps: &[u64], all: u64) {
        if !steps.iter().copied().eq(1..=all) {
            self.fault(format!("{call} was answered after the steps {steps:?} of {all}"));
        }
        lock(&self.answered).entry(client.to_owned()).or_default().push(call.to_owned());
    }

    /// A call may have run, and has no answer.
    pub(crate) fn failed(&self, call: &str, steps: &[u64], why: &str) {
        if !steps.iter().copied().eq((1..).take(steps.len())) {
            self.fault(format!("{call} failed after the steps {steps:?}"));
        }
        *lock(&self.failed).entry(why.to_owned()).or_default() += 1;
    }

    /// Something that must not happen.
    pub(crate) fn fault(&self, what: String) {
        lock(&self.faults).push(what);
    }

    /// The latest response to a client, or what it has begun.
    pub(crate) fn got(&self, client: &str, response: String) {
        lock(&self.latest).insert(client.to_owned(), response);
    }

    /// The latest response to each of these clients, as far as it was noted.
    pub(crate) fn latest(&self, clients: &[&String]) -> Vec<String> {
        let latest = lock(&self.latest);
        clients.iter().map(|client| format!("{client}: {:?}", latest.get(*client))).collect()
    }

    /// The number of answers of each client.
    pub(crate) fn answers(&self) -> HashMap<String, usize> {
        lock(&self.answered).iter().map(|(client, calls)| (client.clone(), calls.len())).collect()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// The number of answered calls, and the reasons of the others.
    pub(crate) fn summary(&self) -> String {
        let answered: usize = lock(&self.answered).values().map(Vec::len).sum();
        format!("{answered} calls were answered; others: {:#?}; faults: {:#?}", lock(&self.failed), lock(&self.faults))
    }

    /// Compares it with what the tool has noted: each call that was answered has run once, and no call twice.
    #[expect(clippy::print_stdout, reason = "the figures of a run")]
    pub(crate) fn check(&self, noted: &Path) {
        let mut runs: HashMap<&str, usize> = HashMap::new();
        let noted = fs::read_to_string(noted).expect("the tool has noted calls");
        for call in noted.lines() {
            *runs.entry(call).or_default() += 1;
        }
        println!("{} calls ran; {}", runs.len(), self.summary());
        let answered = lock(&self.answered);
        for (call, runs) in runs.iter().filter(|(_, runs)| **runs > 1) {
            self.fault(format!("{call} ran {runs} times"));
        }
        for call in answered.values().flatten().filter(|call| !runs.contains_key(call.as_str())) {
            self.fault(format!("{call} was answered and did not run"));
        }
        let faults = lock(&self.faults);
        assert!(faults.is_empty(), "{} faults, such as {:#?}", faults.len(), &faults[..faults.len().min(20)]);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics with a lock")
}

/// The names of the calls of one client.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) client: String,
    pub(crate) ledger: Arc<Ledger>,
    number: usize,
}

impl Calls {
    pub(crate) fn new(client: String, ledger: &Arc<Ledger>) -> Self {
        Self { client, ledger: Arc::clone(ledger), number: 0 }
    }

    /// The name of the next call.
    pub(crate) fn next(&mut self) -> String {
        self.number += 1;
        format!("{}-{}", self.client, self.number)
    }
}
