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
    /// Follows links, because a reader of the file does.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
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

/// True if the file was written, replaced or moved here at this time or later.
pub(crate) fn is_newer(path: &Path, moment: SystemTime) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| [metadata.modified().ok(), moved(&metadata)].iter().flatten().any(|at| *at >= moment))
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

/// The file and, while it is a link, its target; each path with its directories resolved.
pub(crate) fn resolve_links(entry: &Path) -> Vec<PathBuf> {
    let mut hops = vec![entry.to_owned()];
    while let Some(last) = hops.last()
        && hops.len() <= MAX_LINKS
        && let Ok(target) = fs::read_link(last)
    {
        let target = last.parent().unwrap_or(Path::new("")).join(target);
        hops.push(resolved(&target));
    }
    hops
}

/// The path with all components resolved except the last, which may be a link.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    match (parent.canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
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

/// The most links followed from one file; also what ends a circle of them.
const MAX_LINKS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_resolved_up_to_its_last_component() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(resolved(Path::new("missing.py")), here.join("missing.py"));
        assert_eq!(resolved(Path::new("src/../missing.py")), here.join("missing.py"));
        assert_eq!(resolved(Path::new("no/such/directory/x.py")), Path::new("no/such/directory/x.py"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_resolved_but_the_directories_before_it_are() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        std::os::unix::fs::symlink("elsewhere.py", root.join("real/x.py")).unwrap();
        assert_eq!(resolved(&root.join("link/x.py")), root.join("real/x.py"));
        assert_eq!(resolve_links(&root.join("link/x.py")), [root.join("link/x.py"), root.join("real/elsewhere.py")]);
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
            assert!(elapsed < Duration::from_secs(3600), "the clock is that of files: {elapsed:?}");
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
