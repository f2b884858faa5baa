//! Reads and replaces files of others.
//!
//! A file is replaced as a whole: the new text is written next to it and renamed over it, so that no reader sees half
//! of it. A link is followed, so that it stays a link. Owner and permissions stay. A file that changed since it was
//! read is not replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use thiserror::Error;

/// The largest file that is edited. State of hosts in such files has megabytes.
const MAX: u64 = 64 << 20;

/// The longest wait for a host that writes its file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The age from which a lock of a host counts as left behind. Hosts renew theirs more often.
const STALE: Duration = Duration::from_secs(10);

/// A failure with a file. The file is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refuses.
    #[error("cannot {action} {path}: {error}; {remedy}", path = path.display(), remedy = remedy(error))]
    Io {
        /// The refused action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The permissions forbid writing.
    #[error("{} is read-only: make it writable, then try again", .0.display())]
    ReadOnly(PathBuf),
    /// The file is not UTF-8.
    #[error("{} is not UTF-8 text: convert it, then try again", .0.display())]
    NotText(PathBuf),
    /// A directory, a pipe or a device is in the place of the file.
    #[error("{} is not a regular file: put a file in its place, then try again", .0.display())]
    NotRegular(PathBuf),
    /// The file has more than 64 MiB.
    #[error("{} is larger than 64 MiB: edit it by hand", .0.display())]
    TooLarge(PathBuf),
    /// Another program wrote the file after it was read.
    #[error("{} was changed by another program at the same moment: try again", .0.display())]
    Changed(PathBuf),
    /// A link leads out of the project.
    #[error(
        "{} leads to {}, outside of the project: put a file in its place, or change your own files with --scope user",
        link.display(),
        target.display()
    )]
    Outside {
        /// The link.
        link: PathBuf,
        /// The place that it leads to.
        target: PathBuf,
    },
    /// Records need all nine copies of the file.
    #[error(
        "{} has nine copies, and pmcp uninstall needs each of them: uninstall a server that has replaced another one",
        .0.display()
    )]
    Copies(PathBuf),
    /// Another program holds the lock of the file.
    #[error("another program is writing {}: try again", .0.display())]
    Locked(PathBuf),
}

impl FileError {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| Self::Io { action, path: path.to_owned(), error }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on its disk, then try again",
        ErrorKind::ReadOnlyFilesystem => "mount its disk writable, then try again",
        // The file is a mount point, as in a container that gets the file alone.
        ErrorKind::ResourceBusy => "mount its folder in place of the file alone, then try again",
        ErrorKind::PermissionDenied => "correct the permissions of the file and its folder, then try again",
        _ => "correct this, then try again",
    }
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The file behind links.
    path: PathBuf,
    /// `None` if there was no file.
    text: Option<String>,
}

impl ConfigFile {
    /// Reads a file, which need not exist.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        // Links such as /dev/stdin lead to what has no name.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(FileError::NotRegular(path.to_owned()));
        }
        let path = behind_links(path);
        let text = read(&path)?;
        Ok(Self { path, text })
    }

    /// The text; `None` if there was no file.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The file behind links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file next to it whose name has this at its end.
    pub(crate) fn sibling(&self, suffix: &str) -> PathBuf {
        sibling(&self.path, suffix)
    }

    /// Replaces the file, if it has not changed since. Returns the directories that had to be made.
    pub(crate) fn replace(&self, text: &str) -> Result<Vec<PathBuf>, FileError> {
        self.check_writable()?;
        let made = make_directories(&self.path)?;
        self.write_next_to(&self.path, text)?;
        Ok(made)
    }

    /// Deletes the file, if it has not changed since, and these directories, if they are empty.
    pub(crate) fn delete(&self, directories: &[PathBuf]) -> Result<(), FileError> {
        self.check_writable()?;
        self.check_unchanged()?;
        fs::remove_file(&self.path).map_err(FileError::io("delete", &self.path))?;
        for directory in directories.iter().rev() {
            // One that is used by now stays.
            let _used = fs::remove_dir(directory);
        }
        Ok(())
    }

    /// Refuses a file whose permissions forbid writing.
    pub(crate) fn check_writable(&self) -> Result<(), FileError> {
        match fs::metadata(&self.path) {
            Ok(file) if file.permissions().readonly() => Err(FileError::ReadOnly(self.path.clone())),
            _ => Ok(()),
        }
    }

    fn check_unchanged(&self) -> Result<(), FileError> {
        if read(&self.path)? == self.text { Ok(()) } else { Err(FileError::Changed(self.path.clone())) }
    }

    /// Writes a file in this file's directory, with this file's owner and permissions.
    pub(crate) fn write_next_to(&self, target: &Path, text: &str) -> Result<(), FileError> {
        let draft = sibling(&self.path, &format!(".pmcp-{}", std::process::id()));
        let written = self.draft(&draft, text).and_then(|()| {
            self.check_unchanged()?;
            fs::rename(&draft, target).map_err(FileError::io("replace", target))
        });
        if written.is_err() {
            // The first error counts.
            let _gone = fs::remove_file(&draft);
        }
        written
    }

    fn draft(&self, draft: &Path, text: &str) -> Result<(), FileError> {
        let failed = |action| FileError::io(action, draft);
        let mut file = create(draft).map_err(failed("write"))?;
        file.write_all(text.as_bytes()).map_err(failed("write"))?;
        if let Ok(like) = fs::metadata(&self.path) {
            keep_owner(&file, &like).map_err(failed("change the owner of"))?;
            file.set_permissions(like.permissions()).map_err(failed("change the permissions of"))?;
        }
        file.sync_all().map_err(failed("write"))
    }
}

/// The lock that some hosts hold while they write: a directory next to the file.
#[derive(Debug)]
pub(crate) struct DirectoryLock(PathBuf);

impl DirectoryLock {
    /// Waits for the lock, no longer than five seconds.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>, FileError> {
        let path = behind_links(path);
        let lock = sibling(&path, ".lock");
        let started = Instant::now();
        loop {
            match fs::create_dir(&lock) {
                Ok(()) => return Ok(Some(Self(lock))),
                // The host was never started.
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(FileError::io("lock", &path)(error));
                }
                Err(_) if is_stale(&lock) => {
                    // Another program may be faster; then its lock counts.
                    let _gone = fs::remove_dir(&lock);
                }
                Err(_) if started.elapsed() > LOCK_TIMEOUT => return Err(FileError::Locked(path)),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        let _gone = fs::remove_dir(&self.0);
    }
}

fn is_stale(lock: &Path) -> bool {
    let age = |modified| SystemTime::now().duration_since(modified).ok();
    fs::metadata(lock).and_then(|lock| lock.modified()).ok().and_then(age).is_some_and(|age| age > STALE)
}

/// A file that only this program uses, locked until it is dropped.
pub(crate) fn lock(path: &Path) -> Result<File, FileError> {
    make_directories(path)?;
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(FileError::io("open", path))?;
    let started = Instant::now();
    while let Err(error) = file.try_lock() {
        match error {
            fs::TryLockError::Error(error) => return Err(FileError::io("lock", path)(error)),
            fs::TryLockError::WouldBlock if started.elapsed() > LOCK_TIMEOUT => {
                return Err(FileError::Locked(path.to_owned()));
            }
            fs::TryLockError::WouldBlock => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(file)
}

fn read(path: &Path) -> Result<Option<String>, FileError> {
    let mut bytes = Vec::new();
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::io("read", path)(error)),
    };
    // A device has no end, and a pipe may have no beginning.
    if !file.metadata().map_err(FileError::io("read", path))?.is_file() {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    file.take(MAX + 1).read_to_end(&mut bytes).map_err(FileError::io("read", path))?;
    if bytes.len() as u64 > MAX {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| FileError::NotText(path.to_owned()))
}

/// Opens a file for reading, without waiting for a writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options.open(path)
}

/// The file that links lead to, which need not exist.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // The number that Linux follows; a circle of links is an error of reading.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().map_or(target.clone(), |parent| parent.join(&target));
    }
    path
}

/// Refuses a file of a project, if a link leads from it to a place outside of the directory of the project, which may be
/// the work of another person.
pub(crate) fn check_inside(directory: &Path, path: &Path) -> Result<(), FileError> {
    let target = behind_links(path);
    // A link that leads to nothing is there as well.
    let existing = target.ancestors().find(|place| place.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    let missing = target.strip_prefix(existing).unwrap_or(Path::new(""));
    let is_below = missing.components().all(|part| matches!(part, Component::Normal(_)));
    let project = directory.canonicalize().map_err(FileError::io("read", directory))?;
    match existing.canonicalize() {
        Ok(real) if real.starts_with(&project) && is_below => Ok(()),
        real => {
            let links = path.ancestors().take_while(|place| *place != directory).filter(|place| place.is_symlink());
            let link = links.last().unwrap_or(path).to_owned();
            let mut target = real.unwrap_or_else(|_| behind_links(existing));
            target.extend(missing);
            Err(FileError::Outside { link, target })
        }
    }
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Makes the directories of a file. Returns those that were missing, the outermost first.
fn make_directories(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(Vec::new()) };
    let mut missing: Vec<_> =
        directory.ancestors().take_while(|ancestor| !ancestor.exists()).map(Path::to_owned).collect();
    missing.retain(|directory| !directory.as_os_str().is_empty());
    missing.reverse();
    fs::create_dir_all(directory).map_err(FileError::io("create", directory))?;
    Ok(missing)
}

/// Creates a file that only its owner can read. One with its name is left over, or a link that others have put there.
fn create(path: &Path) -> io::Result<File> {
    let _gone = fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Gives the file the owner of another one. With `sudo` it would change otherwise.
#[cfg(unix)]
fn keep_owner(file: &File, like: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_the_system_has_a_remedy() {
        for (kind, remedy) in [
            (ErrorKind::StorageFull, "make room"),
            (ErrorKind::QuotaExceeded, "make room"),
            (ErrorKind::ReadOnlyFilesystem, "mount its disk writable"),
            (ErrorKind::ResourceBusy, "mount its folder"),
            (ErrorKind::PermissionDenied, "permissions"),
            (ErrorKind::Other, "correct this"),
        ] {
            let error = FileError::io("write", Path::new("/s/installed.json"))(kind.into()).to_string();
            assert!(error.contains("/s/installed.json") && error.contains(remedy), "{error}");
            assert!(error.ends_with(", then try again"), "{error}");
        }
    }

    #[test]
    fn a_change_between_reading_and_writing_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        fs::write(&path, "{}").unwrap();
        let file = ConfigFile::read(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        for changed in [file.replace("ours").map(drop), file.delete(&[])] {
            assert!(matches!(changed, Err(FileError::Changed(changed)) if changed == path));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays");
    }
}
