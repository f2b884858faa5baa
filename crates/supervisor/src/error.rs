//! The reasons for which a process could not be started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// [`Process::spawn`](crate::process::Process::spawn) failed. Nothing is left running in any of these cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such program, or the interpreter named in its first line does not exist. The user's to correct.
    #[error("program not found: {}", program.to_string_lossy())]
    NotFound {
        /// The program, as given.
        program: OsString,
    },
    /// The program exists but may not be executed. The user's to correct.
    #[error("{} is not executable; make it so with chmod +x", program.to_string_lossy())]
    PermissionDenied {
        /// The program, as given.
        program: OsString,
    },
    /// The directory to start in cannot be entered. The user's to correct.
    #[error("cannot start in {}", directory.display())]
    Directory {
        /// The directory, as given.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The guardian could not be started, or the started program is not a guardian. The embedder has to correct this:
    /// its `main` must begin with [`run_if_requested`](crate::guardian::run_if_requested).
    #[error("cannot start a guardian for {}", program.to_string_lossy())]
    Guardian {
        /// The program to be guarded.
        program: OsString,
        /// The error of the system, or the guardian's violation of the protocol.
        source: io::Error,
    },
    /// Any other failure: no memory, no descriptors, no room for another process. A later attempt may succeed.
    #[error("cannot start {}", program.to_string_lossy())]
    Other {
        /// The program, as given.
        program: OsString,
        /// The error of the system.
        source: io::Error,
    },
}

impl SpawnError {
    /// Classifies the system's error about executing `program`.
    pub(crate) fn executing(program: OsString, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { program },
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { program },
            _ => Self::Other { program, source },
        }
    }

    /// The kind for [`Lifecycle`](crate::lifecycle::Lifecycle).
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotFound { .. } => io::ErrorKind::NotFound,
            Self::PermissionDenied { .. } => io::ErrorKind::PermissionDenied,
            Self::Directory { source, .. } | Self::Guardian { source, .. } | Self::Other { source, .. } => {
                source.kind()
            }
        }
    }
}
