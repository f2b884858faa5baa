//! Bytes in messages that are shown as JSON.

use bytes::Bytes;
use serde::Serializer;

/// JSON in a field is text; bytes that are not are shown by their number.
pub(crate) fn text<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => length(bytes, serializer),
    }
}

/// `{"bytes": N}`: a piece of a text may begin or end within a secret, where no rule can find it.
pub(crate) fn length<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("bytes", bytes.len())])
}
