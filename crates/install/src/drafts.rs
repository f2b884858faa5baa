//! Drafts of a file that a killed run has left next to it.

use std::fs;

use crate::file::ConfigFile;

/// The end of the name of a draft, before the number of the process that writes it.
const MARK: &str = ".pmcp-";

/// Deletes the drafts of a file whose processes are over. Runs of this program exclude each other by their lock. A draft that
/// cannot be deleted stays.
pub(crate) fn clean(file: &ConfigFile) {
    let path = file.path();
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_left = entry.file_name().to_str().and_then(|draft| process(draft, name)).is_some_and(|id| !is_alive(id));
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _gone = fs::remove_file(entry.path());
        }
    }
}

/// The process that writes a draft of this name.
fn process(draft: &str, name: &str) -> Option<i32> {
    let digits = draft.strip_prefix(name)?.strip_prefix(MARK)?;
    let id: i32 = digits.parse().ok()?;
    (id > 0 && id.to_string() == digits).then_some(id)
}

/// True if a process of this number may run, also one of another user.
#[cfg(unix)]
fn is_alive(id: i32) -> bool {
    let Some(id) = rustix::process::Pid::from_raw(id) else { return true };
    rustix::process::test_kill_process(id) != Err(rustix::io::Errno::SRCH)
}

#[cfg(not(unix))]
fn is_alive(_: i32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_have_the_number_of_a_process() {
        for (draft, id) in [
            ("mcp.json.pmcp-12", Some(12)),
            ("mcp.json.pmcp-012", None),
            ("mcp.json.pmcp-+12", None),
            ("mcp.json.pmcp-0", None),
            ("mcp.json.pmcp-12x", None),
            ("mcp.json.pmcp-backup-2", None),
            ("mcp.json.pmcp-99999999999", None),
            ("other.json.pmcp-12", None),
        ] {
            assert_eq!(process(draft, "mcp.json"), id, "{draft}");
        }
    }
}
