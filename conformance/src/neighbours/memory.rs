//! The memory of a process, as Linux counts it.

use std::fs;

/// The current memory of a process, in bytes; 0 after it has ended.
pub fn memory(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

/// The peak memory of a process, in bytes; 0 after it has ended.
pub fn peak(pid: u32) -> u64 {
    status(pid, "VmHWM:")
}

/// Resets the peak memory of a process to its current memory.
pub(super) fn reset_peak(pid: u32) {
    // A kernel without this feature shows the peak since the start.
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

fn status(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kib: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default();
    kib << 10
}
