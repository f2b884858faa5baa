//! The file system of a tool process. A process in a container may connect through a socket that it has been given.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// True if a process finds the files of this one under the same paths: it has the same mounts and the same root. On
/// systems that do not show them every process counts as one that does.
pub(crate) fn is_shared_with(process: Option<i32>) -> bool {
    let place = |path: String| fs::metadata(path).ok().map(|entry| (entry.dev(), entry.ino()));
    ["ns/mnt", "root"].into_iter().all(|name| match (place(format!("/proc/self/{name}")), process) {
        (None, _) => true,
        (own, Some(process)) => place(format!("/proc/{process}/{name}")) == own,
        (Some(_), None) => false,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_shares_its_files_with_itself() {
        assert!(is_shared_with(std::process::id().try_into().ok()));
        // The system names a process outside of this one's container 0.
        assert!(!is_shared_with(Some(0)));
        assert!(!is_shared_with(None));
    }
}
