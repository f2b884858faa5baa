//! Files and folders that are left out of a tree.

use std::fmt;
use std::path::PathBuf;

/// A file or folder that is not served, although it is in a folder of skills.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Omission {
    /// Its place.
    pub path: PathBuf,
    /// The reason.
    pub why: Omitted,
}

/// The reason why a file or folder is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Omitted {
    /// It is a symbolic link, which may lead elsewhere at any time.
    Link,
    /// It is a device, a pipe or a socket.
    Special,
    /// Its name is not UTF-8, or has control characters or a backslash.
    Name,
    /// Its name begins with a dot, or ends with `~`.
    Private,
    /// It may not be read, and is not in a skill.
    Unreadable,
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Omitted::Link => "it is a link; copy the file instead",
            Omitted::Special => "it is neither a file nor a folder",
            Omitted::Name => "its name is not UTF-8, or has control characters or a backslash",
            Omitted::Unreadable => "it may not be read",
            Omitted::Private => "its name begins with a dot or ends with ~",
        };
        // In quotation marks: the name may have control characters.
        write!(f, "{:?}: {why}", self.path)
    }
}
