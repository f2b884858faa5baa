//! The reasons for which an SDK cannot be lent.

use std::io;
use std::path::{Path, PathBuf};

/// The reason for which an SDK cannot be lent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LendError {
    /// The program was built without SDKs.
    #[error("this program was built without SDKs: install the SDK for the interpreter")]
    NoBundle,
    /// The user has no folder for caches.
    #[error(
        "there is no folder to keep the bundled SDK in: set XDG_CACHE_HOME or HOME, or install the SDK for the interpreter"
    )]
    NoFolder,
    /// The folder cannot be read or written.
    #[error("the bundled SDK cannot be kept in {path}: {source}; {remedy}", path = .path.display(), remedy = remedy(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The folder is on a device that does not answer.
    #[error("the folder of the bundled SDK does not answer; set XDG_CACHE_HOME to a folder on this machine")]
    TimedOut,
    /// The folder can be changed by other users, who could change the code.
    #[error(
        "the bundled SDK cannot be kept in {path}, which other users can change: set XDG_CACHE_HOME to a folder of your \
         own, or delete this one",
        path = .0.display()
    )]
    Shared(PathBuf),
    /// The interpreter prefers the SDK that is installed in this folder.
    #[error(
        "Bun uses the SDK in {path}, and not the bundled one: run the file with --sdk auto, or remove the package",
        path = .0.display()
    )]
    Installed(PathBuf),
    /// The path cannot be part of a search path.
    #[error(
        "the bundled SDK cannot be lent from {path}: the path has a colon; set XDG_CACHE_HOME to another folder",
        path = .0.display()
    )]
    Unusable(PathBuf),
}

impl LendError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, set XDG_CACHE_HOME to a folder on another disk, or install the SDK for the interpreter"
        }
        _ => "set XDG_CACHE_HOME to a folder that can be written, or install the SDK for the interpreter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_the_remedy() {
        for (kind, remedy) in [
            (io::ErrorKind::ReadOnlyFilesystem, "to a folder that can be written"),
            (io::ErrorKind::PermissionDenied, "to a folder that can be written"),
            (io::ErrorKind::StorageFull, "make room there"),
            (io::ErrorKind::QuotaExceeded, "make room there"),
        ] {
            let error = LendError::io(Path::new("/c/sdk"))(kind.into()).to_string();
            assert!(error.contains("/c/sdk") && error.contains(remedy) && error.contains("XDG_CACHE_HOME"), "{error}");
        }
    }
}
