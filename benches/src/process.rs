//! The resources that a process has used so far, from `/proc`.

use std::fs;
use std::time::Duration;

/// The processor time of all live threads, to the nanosecond.
///
/// Child processes are excluded: a guardian and a tool process are not the bridge.
pub fn cpu(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// The resident memory of a process, in megabytes.
pub fn memory(pid: u32) -> f64 {
    status(pid, "VmRSS:")
}

/// The largest resident memory of a process so far, in megabytes.
pub fn peak(pid: u32) -> f64 {
    status(pid, "VmHWM:")
}

fn status(pid: u32, name: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let kilobytes: Option<f64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kilobytes.unwrap_or_default() / 1e3
}
