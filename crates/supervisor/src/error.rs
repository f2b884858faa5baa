//! The reasons for which a process could not be started.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// [`Process::spawn`](crate::process::Process::spawn) failed. Nothing is left running in any of these cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such program. The user's to correct.
    #[error("program not found: {}", program.to_string_lossy())]
    NotFound {
        /// The program, as given.
        program: OsString,
    },
    /// The first line of the program names an interpreter that does not exist. The user's to correct.
    #[error("{}", no_interpreter(program, interpreter))]
    InterpreterNotFound {
        /// The program, as given.
        program: OsString,
        /// The interpreter, as the first line names it.
        interpreter: String,
    },
    /// The program is a directory. The user's to correct.
    #[error("{} is a directory, not a program", program.to_string_lossy())]
    IsDirectory {
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
            io::ErrorKind::NotFound => match interpreter(Path::new(&program)) {
                Some(interpreter) => Self::InterpreterNotFound { program, interpreter },
                None => Self::NotFound { program },
            },
            io::ErrorKind::PermissionDenied if Path::new(&program).is_dir() => Self::IsDirectory { program },
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { program },
            _ => Self::Other { program, source },
        }
    }

    /// The kind for [`Lifecycle`](crate::lifecycle::Lifecycle).
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotFound { .. } | Self::InterpreterNotFound { .. } => io::ErrorKind::NotFound,
            Self::PermissionDenied { .. } | Self::IsDirectory { .. } => io::ErrorKind::PermissionDenied,
            Self::Directory { source, .. } | Self::Guardian { source, .. } | Self::Other { source, .. } => {
                source.kind()
            }
        }
    }
}

/// The interpreter that the first line of a program names, if there is one.
fn interpreter(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(program).ok()?.take(MAX_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    Some(line.trim_matches([' ', '\t']).split([' ', '\t']).next()?.to_owned())
}

fn no_interpreter(program: &OsStr, interpreter: &str) -> String {
    let program = program.to_string_lossy();
    match interpreter.strip_suffix('\r') {
        Some(_) => {
            format!("the first line of {program} ends with a carriage return: save the file with line feeds alone")
        }
        None => format!("{interpreter}, which the first line of {program} names, does not exist"),
    }
}

/// The bytes of a program that may hold its first line.
const MAX_FIRST_LINE: u64 = 4096;
