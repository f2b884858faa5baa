//! The state of one path on disk.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A stamp that changes when a file is written or replaced, and stays when its permissions change.
///
/// Two writes of the same length within the resolution of the file system's clock have the same stamp; a notification
/// distinguishes them, polling cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    identity: u64,
}

impl Stamp {
    /// Follows links, because a reader of the file does. Files that come and go in a directory leave its stamp as it is.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Ok(Self { modified: None, length: 0, identity: identity(&metadata) });
        }
        Ok(Self { modified: metadata.modified().ok(), length: metadata.len(), identity: identity(&metadata) })
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> u64 {
    0
}

/// The time that a file written now gets, or an earlier one. Linux takes it from a clock that ticks every few
/// milliseconds, so that it may be earlier than the exact time before the write.
#[cfg(target_os = "linux")]
pub(crate) fn file_time() -> SystemTime {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    // Neither is negative after 1970.
    let (seconds, nanoseconds) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}

/// The time that a file written now gets.
#[cfg(not(target_os = "linux"))]
pub(crate) fn file_time() -> SystemTime {
    SystemTime::now()
}

/// True if the file, or the link to a directory, was written, replaced or moved here at this time or later.
pub(crate) fn is_newer(path: &Path, moment: SystemTime) -> bool {
    let file = fs::metadata(path).ok().filter(|metadata| !metadata.is_dir());
    file.or_else(|| fs::symlink_metadata(path).ok())
        .is_some_and(|metadata| [metadata.modified().ok(), moved(&metadata)].iter().flatten().any(|at| *at >= moment))
}

/// The earliest time at which the file got its name. A file that is renamed over another keeps its time of writing.
#[cfg(unix)]
fn moved(metadata: &Metadata) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    let seconds = Duration::from_secs(metadata.ctime().try_into().ok()?);
    Some(SystemTime::UNIX_EPOCH + seconds + Duration::from_nanos(metadata.ctime_nsec().try_into().ok()?))
}

#[cfg(not(unix))]
fn moved(metadata: &Metadata) -> Option<SystemTime> {
    metadata.created().ok()
}

/// The links on the way to a path, at every level of it, the first part that does not exist, and last what the path leads to;
/// each with its directories resolved. The path is absolute.
pub(crate) fn resolve_links(path: &Path) -> Vec<PathBuf> {
    let (mut hops, mut resolved) = (Vec::new(), PathBuf::new());
    let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    // The next one is the last.
    let mut rest = parts(path);
    while let Some(part) = rest.pop() {
        if part == "." {
            continue;
        }
        if part == ".." {
            resolved.pop();
            continue;
        }
        resolved.push(part);
        match fs::read_link(&resolved) {
            Ok(target) if hops.len() < MAX_LINKS => {
                hops.push(resolved.clone());
                resolved.pop();
                rest.extend(parts(&target));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !rest.is_empty() => {
                hops.push(resolved.clone());
                resolved.extend(rest.drain(..).rev());
            }
            Ok(_) | Err(_) => {}
        }
    }
    hops.push(resolved);
    hops
}

/// The text of a directory's `.gitignore`, empty if there is none.
pub(crate) fn read_gitignore(directory: &Path) -> String {
    let mut text = Vec::new();
    if let Ok(file) = fs::File::open(directory.join(GITIGNORE)) {
        // An unreadable file has no rules, as for git.
        let _ = io::Read::read_to_end(&mut io::Read::take(file, MAX_GITIGNORE), &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The name of the file that every Python virtual environment holds (PEP 405).
pub(crate) const ENVIRONMENT_MARK: &str = "pyvenv.cfg";

/// The name of the files with rules.
pub(crate) const GITIGNORE: &str = ".gitignore";

/// The most bytes read of one `.gitignore`.
const MAX_GITIGNORE: u64 = 1 << 20;

/// The most links followed on the way to one file; also what ends a circle of them.
const MAX_LINKS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_is_resolved_link_by_link() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/in")).unwrap();
        for (link, target) in [
            ("link", "real"),
            ("real/x.py", "elsewhere.py"),
            ("up", "link/in/.."),
            ("gone", "no/file.py"),
            ("one", "one"),
        ] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        for (path, hops) in [
            ("real", &["real"][..]),
            ("missing.py", &["missing.py"]),
            ("real/in/../missing.py", &["real/missing.py"]),
            ("link/x.py", &["link", "real/x.py", "real/elsewhere.py"]),
            ("up/x.py", &["up", "link", "real/x.py", "real/elsewhere.py"]),
            ("no/such/x.py", &["no", "no/such/x.py"]),
            ("gone", &["gone", "no", "no/file.py"]),
        ] {
            let hops: Vec<_> = hops.iter().map(|hop| root.join(hop)).collect();
            assert_eq!(resolve_links(&root.join(path)), hops, "{path}");
        }
        assert_eq!(resolve_links(&root.join("one")).len(), MAX_LINKS + 1, "a circle");
        assert_eq!(resolve_links(&root.join("link/in")).last(), Some(&root.join("link/in").canonicalize().unwrap()));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_directory_changes_with_its_target_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (root, link) = (directory.path(), directory.path().join("cur"));
        for release in ["1", "2"] {
            fs::create_dir(root.join(release)).unwrap();
        }
        std::os::unix::fs::symlink("1", &link).unwrap();
        let before = Stamp::of(&link).unwrap();
        fs::write(root.join("1/new.py"), "").unwrap();
        assert_eq!(Stamp::of(&link).unwrap(), before);
        let later = SystemTime::now() + Duration::from_secs(3600);
        assert!(is_newer(&link, SystemTime::UNIX_EPOCH) && !is_newer(&link, later));
        fs::File::open(root.join("1")).unwrap().set_modified(later).unwrap();
        assert!(!is_newer(&link, later), "the directory counts for nothing");
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("2", &link).unwrap();
        assert_ne!(Stamp::of(&link).unwrap(), before);
    }

    #[test]
    fn a_file_written_after_a_moment_is_not_older() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tools.py");
        // Most begin right after a tick, where the difference between the clocks is largest.
        for round in 0..200 {
            fs::write(&path, "old").unwrap();
            std::thread::sleep(Duration::from_millis(round % 5));
            let moment = file_time();
            fs::write(&path, "new").unwrap();
            assert!(is_newer(&path, moment), "round {round}");
            let elapsed = SystemTime::now().duration_since(moment).unwrap();
            assert!(elapsed < Duration::from_secs(3600), "the clock is the clock of files: {elapsed:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_has_another_stamp() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        for path in [&old, &new] {
            fs::write(path, "same").unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let before = Stamp::of(&old).unwrap();
        assert_eq!(before, Stamp::of(&old).unwrap());
        fs::rename(&new, &old).unwrap();
        assert_ne!(before, Stamp::of(&old).unwrap());
    }
}
