//! Bytes of URIs as they are compared.

use crate::uri_template::expand::encoded_byte;

/// A byte of a URI. An unreserved character is the same whether it is percent-encoded or not, and so is one that has to be
/// encoded; a reserved one is not (RFC 3986, sections 2.2 and 6.2.2; RFC 6570, section 3.1). Brackets are reserved for hosts
/// alone, and some clients encode them elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit {
    byte: u8,
    is_encoded: bool,
}

impl Unit {
    /// The first one of a text, and its length there.
    fn first(text: &[u8]) -> Option<(Self, usize)> {
        let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if let Some(byte) = encoded_byte(text) {
            return Some((Self { byte, is_encoded: !is_unreserved(byte) }, 3));
        }
        let byte = *text.first()?;
        let is_raw = is_unreserved(byte) || b":/?#@!$&'()*+,;=".contains(&byte);
        Some((Self { byte, is_encoded: !is_raw }, 1))
    }
}

/// The length of the part at the beginning of `uri` that is the same as `text`.
pub(super) fn prefix_len(text: &[u8], uri: &[u8]) -> Option<usize> {
    let (mut text, mut at) = (text, 0);
    while let Some((wanted, length)) = Unit::first(text) {
        let (found, found_length) = Unit::first(&uri[at..])?;
        if found != wanted {
            return None;
        }
        text = &text[length..];
        at += found_length;
    }
    Some(at)
}

/// True for two URIs that are the same, whichever of their characters are percent-encoded without need.
#[must_use]
pub fn is_same_uri(one: &str, other: &str) -> bool {
    one == other || prefix_len(one.as_bytes(), other.as_bytes()) == Some(other.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_compared_in_their_encoded_form() {
        for (one, other, expected) in [
            ("docs://café/a", "docs://caf%C3%A9/a", true),
            ("docs://café/a", "docs://caf%c3%a9/a", true),
            ("a://x y", "a://x%20y", true),
            ("a://A", "a://%41", true),
            ("a://[b]", "a://%5Bb%5d", true),
            ("a://100%", "a://100%25", true),
            ("a://b/c", "a://b%2Fc", false),
            ("a://b%2fc", "a://b%2Fc", true),
            ("a://b?c", "a://b%3Fc", false),
            ("a://b", "a://bc", false),
            ("a://bc", "a://b", false),
            ("a://b", "A://b", false),
            ("", "", true),
        ] {
            assert_eq!((is_same_uri(one, other), is_same_uri(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
