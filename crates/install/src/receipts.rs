//! Records of the files that have entries of ours: the state before the first, so that the last one leaves no trace.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::document::edit::Origin;
use crate::file::{ConfigFile, FileError};

/// The records of this user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Receipts {
    #[serde(default)]
    files: Vec<Receipt>,
}

/// A file with entries of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) path: PathBuf,
    /// False if the file was made for the first entry.
    pub(crate) existed: bool,
    /// Directories that were made for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) origin: Origin,
    /// The names of the entries.
    pub(crate) servers: Vec<String>,
}

impl Receipts {
    /// Reads the records. A file that cannot be read as such counts as empty: without a record an entry is removed, too,
    /// and only the objects around it stay.
    pub(crate) fn read(path: &Path) -> Result<(Self, ConfigFile), FileError> {
        let file = ConfigFile::read(path)?;
        let receipts = file.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Ok((receipts, file))
    }

    /// Writes the records. Without any the file is deleted.
    pub(crate) fn write(&self, file: &ConfigFile) -> Result<(), FileError> {
        if self.files.is_empty() {
            return if file.text().is_some() { file.delete(&[]) } else { Ok(()) };
        }
        let text = serde_json::to_string_pretty(self).expect("records are JSON") + "\n";
        file.replace(&text).map(drop)
    }

    pub(crate) fn of(&self, path: &Path) -> Option<&Receipt> {
        self.files.iter().find(|receipt| receipt.path == path)
    }

    /// Replaces the record of a file; one without entries is dropped.
    pub(crate) fn put(&mut self, receipt: Receipt) {
        self.files.retain(|known| known.path != receipt.path);
        if !receipt.servers.is_empty() {
            self.files.push(receipt);
        }
    }
}
