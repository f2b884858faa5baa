//! Failures of an installation.

use std::path::PathBuf;

use thiserror::Error;

use crate::document::edit::EditError;
use crate::file::FileError;
use crate::name::InvalidName;

/// A failure. The file of the host is as it was, except after [`Incomplete`](Self::Incomplete).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file was changed. Its record was not, or a copy of it that is no longer needed stays.
    #[error("{} was changed, but its record or a copy of it was not: {error}", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: FileError,
    },
    /// The text of the file cannot be edited.
    #[error("{}: {error}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: EditError,
    },
    /// The name is not one for a server.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// Another server has the name.
    #[error(
        "{} has a server \"{name}\" already, which starts {starts}: choose a name with --name, or replace it with --replace",
        path.display()
    )]
    Taken {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The beginning of its command, or its URL, without what may be a secret.
        starts: String,
    },
    /// The server is of another origin.
    #[error("\"{name}\" in {} does not run pmcp: remove it in the file, or with the host", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The host has no file in this scope, or the directory of the user is not known.
    #[error("{0} has no such file: paste the entry into its settings")]
    NoFile(&'static str),
    /// The host's file cannot name this server.
    #[error("the file of {0} names commands only: install a tool file or a command")]
    CommandsOnly(&'static str),
}
