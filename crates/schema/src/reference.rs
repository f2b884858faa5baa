//! References within one document.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The fragment of a reference into its own document, decoded: a JSON pointer such as `/$defs/a b` for `#/$defs/a%20b`
/// (RFC 6901, section 6), or the name of an anchor. `None` for other documents, and for text that is not UTF-8.
#[must_use]
pub fn local_fragment(reference: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()
}
