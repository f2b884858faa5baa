//! Documents in JSON, as servers send them.

use serde::de::DeserializeOwned;

/// Reads a document, which may begin with a byte order mark (RFC 8259, section 8.1).
pub(crate) fn parse<T: DeserializeOwned>(document: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document))
}
