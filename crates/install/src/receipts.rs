//! Records of the files that have entries of ours: the state before the first, so that the last one leaves no trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::digest;
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
    /// The copy of the file before the first change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<PathBuf>,
    /// The state before the first entry was inserted. One that replaces another inserts nothing.
    pub(crate) origin: Origin,
    /// The names of the entries.
    pub(crate) servers: Vec<String>,
    /// The digests of the entries as they were written, by name. Older records have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) digests: BTreeMap<String, String>,
    /// The servers of another origin that entries have replaced, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) former: BTreeMap<String, Former>,
}

/// A server of another origin that an entry of ours has replaced. It comes back in the place of that entry, wherever the
/// entry is by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Former {
    /// The digest of its entry.
    pub(crate) digest: String,
    /// The text of its entry: a value of JSON, or the lines of a table.
    pub(crate) text: String,
    /// The copy of the file with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<PathBuf>,
}

/// An entry of a file, compared with the record of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// There is no record: this crate has not written an entry of this name.
    No,
    /// There is a record of the name alone, which an older version has made.
    NameOnly,
    /// The entry is not the one that was written: a member of it was changed, added or removed since.
    Changed,
    /// The entry is the one that was written.
    Same,
}

impl Recorded {
    /// Compares an entry with the record of its file. The name does not suffice: the file of a project changes with the
    /// project.
    pub(crate) fn of(receipt: Option<&Receipt>, name: &str, entry: &Value) -> Self {
        let Some(receipt) = receipt.filter(|receipt| receipt.servers.iter().any(|known| known == name)) else {
            return Self::No;
        };
        match receipt.digests.get(name) {
            None => Self::NameOnly,
            Some(known) if *known == digest(entry) => Self::Same,
            Some(_) => Self::Changed,
        }
    }
}

impl Receipt {
    /// Adds an entry, as the file has it.
    pub(crate) fn record(&mut self, name: &str, entry: &Value) {
        self.servers.retain(|known| known != name);
        self.servers.push(name.to_owned());
        self.digests.insert(name.to_owned(), digest(entry));
    }

    /// Drops an entry.
    pub(crate) fn forget(&mut self, name: &str) {
        self.servers.retain(|known| known != name);
        self.digests.remove(name);
        self.former.remove(name);
    }

    /// The entries that have replaced no other one.
    pub(crate) fn inserted(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(String::as_str).filter(move |name| !self.former.contains_key(*name))
    }
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

    /// The copies of files that records need.
    pub(crate) fn copies(&self) -> Vec<PathBuf> {
        let of = |receipt: &Receipt| -> Vec<PathBuf> {
            receipt
                .copy
                .iter()
                .chain(receipt.former.values().filter_map(|former| former.copy.as_ref()))
                .cloned()
                .collect()
        };
        self.files.iter().flat_map(of).collect()
    }

    /// Replaces the record of a file; one without entries is dropped.
    pub(crate) fn put(&mut self, receipt: Receipt) {
        self.files.retain(|known| known.path != receipt.path);
        if !receipt.servers.is_empty() {
            self.files.push(receipt);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_compared_as_a_whole() {
        let written = json!({"command": "/bin/pmcp", "args": ["run", "/t.py"], "env": {"A": "1"}});
        let mut receipt: Receipt = serde_json::from_value(json!({
            "path": "/p/.mcp.json", "existed": true, "origin": {"depth": 1, "padding": ""}, "servers": ["old"],
        }))
        .unwrap();
        receipt.record("new", &written);
        let mut more = written.clone();
        more["cwd"] = json!("/elsewhere");
        for (name, entry, expected) in [
            ("new", written.clone(), Recorded::Same),
            ("new", json!({"env": {"A": "1"}, "args": ["run", "/t.py"], "command": "/bin/pmcp"}), Recorded::Same),
            ("new", more, Recorded::Changed),
            ("new", json!({"command": "sh", "args": ["-c", "true"]}), Recorded::Changed),
            ("new", json!({"command": "/bin/pmcp", "args": ["run", "/t.py"]}), Recorded::Changed),
            ("old", written.clone(), Recorded::NameOnly),
            ("theirs", written.clone(), Recorded::No),
        ] {
            assert_eq!(Recorded::of(Some(&receipt), name, &entry), expected, "{name}: {entry}");
        }
        assert_eq!(Recorded::of(None, "new", &written), Recorded::No);
        let again: Receipt = serde_json::from_value(serde_json::to_value(&receipt).unwrap()).unwrap();
        assert_eq!(again, receipt);
        receipt.forget("new");
        assert_eq!(Recorded::of(Some(&receipt), "new", &written), Recorded::No);
    }
}
