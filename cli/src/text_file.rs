//! Files and inputs of text.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file, without a byte order mark at its beginning.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    read_all(fs::File::open(path)?)
}

/// The text of an input, without a byte order mark at its beginning.
pub(crate) fn read_all(mut input: impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    Ok(without_mark(&text).to_owned())
}

/// A text without a byte order mark at its beginning (RFC 8259, section 8.1).
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
