//! Edits of configuration files, as functions from text to text.
//!
//! An edit changes the bytes of one entry, and those that its place in the file needs: everything else keeps its bytes,
//! comments and layout included. [`insert`] reports an [`Origin`], with which [`remove`] gives back the text before.

mod comments;
pub(crate) mod edit;
pub(crate) mod hidden;
mod json;
mod json_edit;
pub(crate) mod place;
mod toml;

use crate::document::comments::Blanked;
use crate::value::Value;

pub use edit::{EditError, Edited, Format, Origin};

/// Inserts a server. `keys` leads to the object that holds the servers; missing objects are inserted, too.
///
/// # Errors
///
/// The text is not in its format, or has a server with this name.
pub fn insert(text: &str, format: Format, keys: &[&str], name: &str, value: &Value) -> Result<Edited, EditError> {
    match format {
        Format::Toml => toml::insert(text, keys, name, value),
        _ => json_edit::insert(text, format, keys, name, value),
    }
}

/// Removes a server. The origin of the first insertion is given with the last removal: then everything that was inserted
/// for servers goes, too.
///
/// # Errors
///
/// The text is not in its format, or has no server with this name.
pub fn remove(
    text: &str,
    format: Format,
    keys: &[&str],
    name: &str,
    origin: Option<&Origin>,
) -> Result<String, EditError> {
    match format {
        Format::Toml => toml::remove(text, keys, name, origin),
        _ => json_edit::remove(text, format, keys, name, origin),
    }
}

/// The servers of a text, in its order: the name and the entry as JSON. An entry that is null counts as absent.
///
/// # Errors
///
/// The text is not in its format.
pub fn servers(text: &str, format: Format, keys: &[&str]) -> Result<Vec<(String, serde_json::Value)>, EditError> {
    match format {
        Format::Toml => toml::servers(text, keys),
        _ => json::servers(text, format, keys),
    }
}

/// The JSON of a text that may have comments, and commas after the last member: both become white space, so that the
/// positions are the positions in the text.
///
/// # Errors
///
/// A comment has no end.
pub fn without_comments(text: &str) -> Result<String, EditError> {
    Blanked::new(text, Format::Jsonc).map(|blanked| blanked.json)
}
