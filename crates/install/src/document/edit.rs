//! The words of edits: notations, results and errors.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The notation of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON by RFC 8259.
    Json,
    /// JSON with comments.
    JsonWithComments,
    /// JSON with comments, and commas after the last member.
    Jsonc,
    /// TOML 1.0, with a table for each server.
    Toml,
}

/// The state of a file before the first entry was inserted. Removing the last entry restores it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The number of keys on the way to the servers that existed.
    pub(super) depth: usize,
    /// The white space that separates the first insertion from the rest of the file.
    pub(super) padding: String,
    /// The whole text, if it had no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) without_value: Option<String>,
    /// True if the key after these existed and was null.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) was_null: bool,
}

impl Origin {
    /// The origin of an entry that was found in the file: only the entry goes with its removal. `depth`: the number of keys on
    /// the way to the servers.
    pub(crate) fn of_entry(depth: usize) -> Self {
        Self { depth, ..Self::default() }
    }
}

/// A text with a new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// The state before, for [`remove`](crate::remove).
    pub origin: Origin,
}

/// The reason for which a text was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is not in its format.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 1.
        column: usize,
        /// The reason.
        reason: String,
    },
    /// Something on the way to the servers is not an object.
    #[error("{0} is not an object")]
    NotAnObject(String),
    /// A key on the way to the servers, or the name of a server, occurs twice, so readers may disagree on the one that counts.
    #[error("the key \"{0}\" occurs twice")]
    Twice(String),
    /// There is a server with this name.
    #[error("there is a server \"{0}\" already")]
    Exists(String),
    /// There is no server with this name.
    #[error("there is no server \"{0}\"")]
    NotFound(String),
    /// The entry is written in a way that this crate does not edit.
    #[error("{0}; edit the file by hand")]
    Unsupported(String),
}
