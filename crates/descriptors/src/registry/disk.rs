//! Schemas on disk, for the next start.
//!
//! One file for each version of a module, named by the digest of both. It holds the set as it came and the facts for
//! asking again, and a digest over all of it: a file that is damaged, cut or of another format is deleted and fetched
//! again. Files are written under a temporary name and renamed, readable by their owner only, and hold no credentials.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use prost::Message as _;
use sha2::{Digest, Sha256};

use crate::registry::cache::ModuleVersion;

/// The first bytes of a file, with the version of its format.
const MAGIC: &[u8] = b"protomcp-schema-1\n";

/// The bytes of a digest.
const DIGEST: usize = 32;

/// The end of the names of files.
const SUFFIX: &str = ".schema";

/// The end of the names of files that are being written.
const UNFINISHED: &str = ".new";

/// The age of a file that was being written by a process that is gone.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder with schemas.
#[derive(Debug)]
pub struct DiskCache {
    folder: PathBuf,
    /// The most bytes of all files together.
    limit: u64,
}

/// The contents of a file.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DiskEntry {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) commit: String,
    #[prost(string, optional, tag = "3")]
    pub(crate) etag: Option<String>,
    /// Seconds since 1970.
    #[prost(uint64, tag = "4")]
    pub(crate) fetched_at: u64,
    #[prost(bytes = "bytes", tag = "5")]
    pub(crate) set: Bytes,
}

impl DiskEntry {
    pub(crate) fn new(key: &ModuleVersion, commit: &str, etag: Option<String>, set: Bytes) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { key: text(key), commit: commit.to_owned(), etag, fetched_at: now.as_secs(), set }
    }

    /// The time since the set was fetched. A file of the future counts as old.
    pub(crate) fn age(&self) -> Duration {
        let fetched_at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.fetched_at));
        fetched_at.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or(Duration::MAX / 4)
    }
}

impl DiskCache {
    /// The default for the bytes of all files together.
    pub const DEFAULT_LIMIT: u64 = 256 << 20;

    /// The schemas in `folder`, which is made when the first one is kept. The oldest files are deleted when all together
    /// have more than `limit` bytes.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        Self { folder: folder.into(), limit }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Deletes all schemas, and returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read or a file cannot be deleted. A folder that does not exist is empty.
    pub fn clear(&self) -> io::Result<usize> {
        self.sweep(Duration::ZERO)?;
        let files = self.files()?;
        files.iter().try_for_each(|file| remove(&file.path))?;
        Ok(files.len())
    }

    /// The number of schemas, and their bytes.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn usage(&self) -> io::Result<(usize, u64)> {
        let files = self.files()?;
        Ok((files.len(), files.iter().map(|file| file.len).sum()))
    }

    /// Reads an entry. A file that is not one is deleted.
    pub(crate) fn read(&self, key: &ModuleVersion) -> Option<DiskEntry> {
        let path = self.path(key);
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(self.limit + 1).read_to_end(&mut bytes).ok()?;
        let entry = parse(&bytes.into()).filter(|entry| entry.key == text(key));
        if entry.is_none() {
            tracing::warn!(file = %path.display(), "deleting a damaged schema");
            let _ = fs::remove_file(&path);
        }
        entry
    }

    /// Writes an entry, and deletes the oldest files above the limit.
    pub(crate) fn write(&self, key: &ModuleVersion, entry: &DiskEntry) -> io::Result<()> {
        let body = entry.encode_to_vec();
        let len = (MAGIC.len() + DIGEST + body.len()) as u64;
        if len > self.limit {
            return Ok(());
        }
        create_folder(&self.folder)?;
        // Other processes, perhaps in other containers with the same process ids, write into the same folder.
        let name = getrandom::u64().map_err(io::Error::other)?;
        let draft = self.folder.join(format!("{name:016x}{UNFINISHED}"));
        let mut file = private_file(&draft)?;
        let written = file
            .write_all(MAGIC)
            .and_then(|()| file.write_all(&Sha256::digest(&body)))
            .and_then(|()| file.write_all(&body));
        let renamed = written.and_then(|()| fs::rename(&draft, self.path(key)));
        if renamed.is_err() {
            let _ = fs::remove_file(&draft);
        }
        renamed?;
        self.shrink()
    }

    /// Deletes files that processes began to write longer ago than `age`, and did not finish.
    fn sweep(&self, age: Duration) -> io::Result<()> {
        let now = SystemTime::now();
        let is_old = |file: &&Found| now.duration_since(file.modified).is_ok_and(|found| found >= age);
        self.files_with(UNFINISHED)?.iter().filter(is_old).try_for_each(|file| remove(&file.path))
    }

    fn shrink(&self) -> io::Result<()> {
        self.sweep(ABANDONED)?;
        let mut files = self.files()?;
        let mut total: u64 = files.iter().map(|file| file.len).sum();
        files.sort_by_key(|file| file.modified);
        for file in files {
            if total <= self.limit {
                break;
            }
            remove(&file.path)?;
            total -= file.len;
        }
        Ok(())
    }

    fn files(&self) -> io::Result<Vec<Found>> {
        self.files_with(SUFFIX)
    }

    fn files_with(&self, suffix: &str) -> io::Result<Vec<Found>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_string_lossy().ends_with(suffix) {
                let facts = match entry.metadata() {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    facts => facts?,
                };
                let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push(Found { path: entry.path(), len: facts.len(), modified });
            }
        }
        Ok(files)
    }

    fn path(&self, key: &ModuleVersion) -> PathBuf {
        let digest = Sha256::digest(text(key));
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name + SUFFIX)
    }
}

/// Deletes a file, unless another process has done so.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

struct Found {
    path: PathBuf,
    len: u64,
    modified: SystemTime,
}

fn text(key: &ModuleVersion) -> String {
    match &key.version {
        Some(version) => format!("{}:{version}", key.module),
        None => key.module.to_string(),
    }
}

fn parse(bytes: &Bytes) -> Option<DiskEntry> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (digest, body) = rest.split_at_checked(DIGEST)?;
    if Sha256::digest(body).as_slice() != digest {
        return None;
    }
    DiskEntry::decode(bytes.slice_ref(body)).ok()
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn create_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(version: &str) -> ModuleVersion {
        let module = "buf.build/acme/tools".parse().expect("a module");
        ModuleVersion { module, version: Some(version.parse().expect("a version")) }
    }

    fn entry(version: &str, len: usize) -> DiskEntry {
        DiskEntry::new(&key(version), "c", Some("\"e\"".to_owned()), vec![7; len].into())
    }

    #[test]
    fn entries_survive_and_are_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = DiskCache::new(folder.path().join("a/b"), 10_000);
        assert_eq!(disk.read(&key("v1")), None);
        assert_eq!(disk.usage().expect("empty"), (0, 0));
        disk.write(&key("v1"), &entry("v1", 100)).expect("written");
        let again = DiskCache::new(folder.path().join("a/b"), 10_000);
        assert_eq!(again.read(&key("v1")), Some(entry("v1", 100)));
        assert_eq!(again.read(&key("v2")), None);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
            assert_eq!((mode(&disk.path(&key("v1"))), mode(disk.folder())), (0o600, 0o700));
        }
        assert_eq!(disk.clear().expect("deleted"), 1);
        assert_eq!(disk.read(&key("v1")), None);
    }

    #[test]
    fn damaged_files_are_ignored_and_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = DiskCache::new(folder.path(), 10_000);
        disk.write(&key("v1"), &entry("v1", 100)).expect("written");
        let path = disk.path(&key("v1"));
        let whole = fs::read(&path).expect("it is there");
        let mut cases: Vec<Vec<u8>> = (0..whole.len()).map(|len| whole[..len].to_vec()).collect();
        cases.extend((0..whole.len()).map(|at| {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            changed
        }));
        for damaged in cases {
            fs::write(&path, damaged).expect("written");
            assert_eq!(disk.read(&key("v1")), None);
            assert!(!path.exists());
        }
        // A sound file under the name of another key.
        fs::write(disk.path(&key("v2")), &whole).expect("written");
        assert_eq!(disk.read(&key("v2")), None);
    }

    #[test]
    fn two_caches_of_one_folder_do_not_meet() {
        let folder = tempfile::tempdir().expect("a folder");
        let caches: Vec<_> = (0..4).map(|_| DiskCache::new(folder.path(), 1 << 20)).collect();
        std::thread::scope(|threads| {
            for disk in &caches {
                threads.spawn(move || {
                    for _ in 0..50 {
                        disk.write(&key("v1"), &entry("v1", 1000)).expect("written");
                        disk.write(&key("v2"), &entry("v2", 1000)).expect("written");
                    }
                });
            }
        });
        assert_eq!(caches[0].usage().expect("read").0, 2);
        assert!(caches[0].files_with(UNFINISHED).expect("read").is_empty());
    }

    #[test]
    fn files_that_were_not_finished_are_deleted() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = DiskCache::new(folder.path(), 10_000);
        let (old, young) = (folder.path().join("1-0.new"), folder.path().join("2-0.new"));
        let file = File::create(&old).expect("a file");
        file.set_modified(SystemTime::now() - ABANDONED * 2).expect("a time");
        fs::write(&young, "x").expect("written");
        disk.write(&key("v1"), &entry("v1", 100)).expect("written");
        assert!(!old.exists() && young.exists());
        assert_eq!(disk.clear().expect("deleted"), 1);
        assert!(!young.exists());
        remove(&young).expect("a file that is gone counts as deleted");
    }

    #[test]
    fn the_oldest_files_leave_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = DiskCache::new(folder.path(), 1000);
        for (index, version) in ["v1", "v2", "v3"].into_iter().enumerate() {
            disk.write(&key(version), &entry(version, 300)).expect("written");
            let file = File::options().write(true).open(disk.path(&key(version))).expect("it is there");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(index as u64)).expect("a time");
        }
        assert!(disk.usage().expect("read").1 <= 1000);
        assert_eq!(disk.read(&key("v1")), None);
        assert!(disk.read(&key("v3")).is_some());
        disk.write(&key("v4"), &entry("v4", 2000)).expect("too large, and not kept");
        assert_eq!(disk.read(&key("v4")), None);
    }
}
