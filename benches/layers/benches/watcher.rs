//! From a save to the batch that reports it. Most of the time is the 30 ms debounce, which merges the events of one
//! save.

use std::fs;
use std::time::Duration;

use divan::Bencher;
use protomcp_watch::{Batch, Watch, Watcher};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Receiver;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 30, sample_size = 1)]
fn write_to_batch(bencher: Bencher<'_, '_>) {
    measure(bencher, |watch| watch);
}

/// The same without the debounce, to show the remaining cost.
#[divan::bench(sample_count = 30, sample_size = 1)]
fn write_to_batch_without_quiet(bencher: Bencher<'_, '_>) {
    measure(bencher, |watch| Watch { debounce: Duration::ZERO, max_delay: Duration::ZERO, ..watch });
}

fn measure(bencher: Bencher<'_, '_>, adjust: impl Fn(Watch) -> Watch) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tools.py");
    fs::write(&file, "0").expect("the folder can be written");
    let (watcher, mut batches) = {
        let _inside = runtime.enter();
        Watcher::spawn(adjust(Watch::file(&file))).expect("the folder can be watched")
    };
    let mut version = 0;
    bencher.bench_local(|| {
        version += 1;
        save(&folder, version);
        next(&runtime, &mut batches)
    });
    drop(watcher);
}

/// Saves like an editor: writes a new file and renames it over the old one.
fn save(folder: &TempDir, version: u32) {
    let draft = folder.path().join(".tools.py.draft");
    fs::write(&draft, version.to_string()).expect("the folder can be written");
    fs::rename(draft, folder.path().join("tools.py")).expect("the folder can be written");
}

fn next(runtime: &Runtime, batches: &mut Receiver<Batch>) -> Batch {
    runtime.block_on(batches.recv()).expect("the watcher runs")
}
