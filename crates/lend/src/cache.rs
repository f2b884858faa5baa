//! The folder in which SDKs are kept between starts.
//!
//! Each file is compared with the one in the program before it is lent, and replaced by rename if it is missing or
//! differs. So any number of programs can start at the same time, and a file that a crash has cut, or that was edited,
//! does no harm.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::bundle::Bundle;
use crate::error::LendError;

/// The folder of compiled files, next to the files of Python.
const COMPILED: &str = "__pycache__";

/// Versions of an SDK that are kept; with one more, the oldest is deleted.
const VERSIONS: usize = 8;

/// A folder for SDKs, with a folder for each version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdkCache {
    folder: PathBuf,
    /// The outermost folder that this program makes.
    outermost: PathBuf,
}

impl SdkCache {
    /// SDKs below `folder`, which is made when the first one is kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { outermost: folder.clone(), folder }
    }

    /// The place for the user of this process, as the XDG Base Directory Specification has it. `variable` looks up the
    /// environment.
    ///
    /// # Errors
    /// [`LendError::NoFolder`] if neither `XDG_CACHE_HOME` nor `HOME` is an absolute path.
    pub fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, LendError> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let outermost = caches.ok_or(LendError::NoFolder)?.join("protomcp");
        Ok(Self { folder: outermost.join("sdk"), outermost })
    }

    /// The folder with the files of the bundle. Interpreters may have added others, such as compiled ones.
    pub(crate) fn keep(&self, bundle: &Bundle) -> Result<PathBuf, LendError> {
        let folder = self.folder.join(bundle.folder);
        let is_new = fs::metadata(&folder).is_err();
        self.refuse_shared(bundle)?;
        let mut bytes = Vec::new();
        for file in bundle.files {
            let path = folder.join(file.path);
            if !has(&path, file.bytes, &mut bytes) {
                write(&path, file.bytes)?;
            }
            if path.extension().is_some_and(|extension| extension == "py") {
                // Python would make it with the mask of the user, for a group perhaps. Without it Python compiles anew.
                let _ = make(&path.with_file_name(COMPILED));
            }
        }
        if is_new {
            // Another user may have made the folder since.
            self.refuse_shared(bundle)?;
            self.delete_old(bundle);
        }
        Ok(folder)
    }

    /// Refuses files that other users could change or replace: all that this program makes, and those that Python has
    /// compiled of them.
    fn refuse_shared(&self, bundle: &Bundle) -> Result<(), LendError> {
        let folder = self.folder.join(bundle.folder);
        let files = bundle.files.iter().map(|file| folder.join(file.path));
        let mut paths = BTreeSet::new();
        for file in files {
            let all = file.ancestors().take_while(|path| path.starts_with(&self.outermost));
            paths.extend(all.map(Path::to_owned));
            paths.insert(file.with_file_name(COMPILED));
        }
        let compiled = paths.iter().filter(|path| path.ends_with(COMPILED)).flat_map(fs::read_dir).flatten().flatten();
        let compiled: Vec<_> = compiled.map(|entry| entry.path()).collect();
        let others_can_change = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| is_shared(&found));
        match paths.into_iter().chain(compiled).find(others_can_change) {
            Some(path) => Err(LendError::Shared(path)),
            None => Ok(()),
        }
    }

    /// Deletes the oldest versions of the same SDK. A failure leaves files behind and does no other harm.
    fn delete_old(&self, bundle: &Bundle) {
        let (language, _) = bundle.folder.split_once('-').unwrap_or((bundle.folder, ""));
        let is_other = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            let name = name.to_str().filter(|name| *name != bundle.folder);
            name.and_then(|name| name.strip_prefix(language)).is_some_and(|rest| rest.starts_with('-'))
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().filter(is_other);
        let mut others: Vec<_> =
            entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
        others.sort();
        let excess = (others.len() + 1).saturating_sub(VERSIONS);
        for (_, path) in others.into_iter().take(excess) {
            drop(fs::remove_dir_all(path));
        }
    }
}

/// True if users other than this one and the system's could change the files.
fn is_shared(found: &fs::Metadata) -> bool {
    let own = rustix::process::geteuid().as_raw();
    (found.uid() != own && found.uid() != 0) || found.mode() & 0o022 != 0
}

/// True if the file has exactly these bytes. `buffer` is reused.
fn has(path: &Path, bytes: &[u8], buffer: &mut Vec<u8>) -> bool {
    let Ok(file) = File::open(path) else { return false };
    buffer.clear();
    // One byte more shows that the file is longer.
    let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(buffer).is_ok() && *buffer == bytes
}

/// Writes a file under a temporary name, and renames it.
fn write(path: &Path, bytes: &[u8]) -> Result<(), LendError> {
    let folder = path.parent().expect("a file is in a folder");
    make(folder)?;
    // Containers with the same process numbers may share the folder.
    let name = getrandom::u64().map_err(io::Error::other).map_err(LendError::io(path))?;
    let draft = folder.join(format!(".new-{name:016x}"));
    let written = create(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    written.or_else(|error| {
        drop(fs::remove_file(&draft));
        // Another program may have written it since.
        if has(path, bytes, &mut Vec::new()) { Ok(()) } else { Err(LendError::io(path)(error)) }
    })
}

/// Makes a folder for this user alone, unless it is there.
fn make(folder: &Path) -> Result<(), LendError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(LendError::io(folder))
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests;
