//! JSON of a process.

use bytes::Bytes;
use protomcp_types::{RawJson, replace_lone_surrogates};

/// One JSON value that every client can read.
///
/// # Errors
/// If the text is not one JSON value in UTF-8.
pub(crate) fn parse(text: Bytes) -> Result<RawJson, serde_json::Error> {
    RawJson::parse(replace_lone_surrogates(text))
}
