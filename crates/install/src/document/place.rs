//! The place of an entry in a text, and another entry in that place. Everything around it keeps its bytes.

use std::ops::Range;

use crate::document::edit::{EditError, Format};
use crate::document::{json_edit, toml};
use crate::value::Value;

/// The place of an entry: its value in JSON, the lines of its table in TOML.
///
/// # Errors
///
/// The text is not in its format, has no entry with this name, or has it in several places.
pub(crate) fn place(text: &str, format: Format, keys: &[&str], name: &str) -> Result<Range<usize>, EditError> {
    match format {
        Format::Toml => toml::place(text, keys, name),
        _ => json_edit::place(text, format, keys, name),
    }
}

/// The text with another entry under this name.
///
/// # Errors
///
/// The errors of [`place`].
pub(crate) fn replace(
    text: &str,
    format: Format,
    keys: &[&str],
    name: &str,
    value: &Value,
) -> Result<String, EditError> {
    match format {
        Format::Toml => toml::replace(text, keys, name, value),
        _ => json_edit::replace(text, format, keys, name, value),
    }
}

/// The text with the text of an entry, as [`place`] has found it once, under this name.
///
/// # Errors
///
/// The errors of [`place`]. The result is not checked in JSON.
pub(crate) fn restore(text: &str, format: Format, keys: &[&str], name: &str, entry: &str) -> Result<String, EditError> {
    match format {
        Format::Toml => toml::restore(text, keys, name, entry),
        _ => {
            let place = json_edit::place(text, format, keys, name)?;
            Ok(format!("{}{entry}{}", &text[..place.start], &text[place.end..]))
        }
    }
}
