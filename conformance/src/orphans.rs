//! Finds the processes that a test's `pmcp` has started, in whatever session they are.
//!
//! A process inherits its environment, whatever session or group it moves to, so a variable with a unique value in
//! every test marks the whole family. `/proc` shows it while the process lives; a zombie shows nothing.

use std::fs;

/// The variable that carries a sandbox's mark.
pub(crate) const MARKER: &str = "PMCP_TEST_MARKER";

/// A marked process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Its process id.
    pub pid: u32,
    /// Its command line, with spaces between the words.
    pub command: String,
}

/// All living processes that carry this mark.
pub fn living(marker: &str) -> Vec<Orphan> {
    let wanted = format!("{MARKER}={marker}");
    let entries = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    pids.filter(|pid| carries(*pid, &wanted)).map(|pid| Orphan { pid, command: command(pid) }).collect()
}

fn carries(pid: u32, wanted: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes())
}

fn command(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ")
}
