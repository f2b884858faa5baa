//! References of JSON Schema within one document.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The JSON pointer of a reference into its own document, such as `/$defs/a b` for `#/$defs/a%20b`: the fragment of a URI is
/// decoded before it is a pointer (RFC 6901, section 6). `None` for other documents, and for text that is not UTF-8.
#[must_use]
pub fn local_pointer(reference: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_decoded() {
        for (reference, expected) in [
            ("#", Some("")),
            ("#/$defs/a", Some("/$defs/a")),
            ("#/$defs/%C3%BC", Some("/$defs/ü")),
            ("#/%24defs/a%7E1b", Some("/$defs/a~1b")),
            ("#/$defs/x%2520y", Some("/$defs/x%20y")),
            ("#/$defs/100%", Some("/$defs/100%")),
            ("#/$defs/%ff", None),
            ("other.json#/$defs/a", None),
        ] {
            assert_eq!(local_pointer(reference).as_deref(), expected, "{reference}");
        }
    }
}
