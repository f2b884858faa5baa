//! The memory of a process, as Linux counts it.

use std::fs;

/// What a process holds now, in bytes; 0 when it is gone.
pub fn memory(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

/// The most that a process has held, in bytes; 0 when it is gone.
pub fn peak(pid: u32) -> u64 {
    status(pid, "VmHWM:")
}

/// Lets the most that a process has held be what it holds now.
pub(super) fn reset_peak(pid: u32) {
    // A kernel that does not know this shows the peak since the start.
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

fn status(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kib: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default();
    kib << 10
}
