//! Names of files and folders, and the URIs that are made of them.
//!
//! A URI is made of names, never a name of a URI: a request is answered only if its URI is one that was made here.

use std::str;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The parent of the first names of all URIs.
pub(crate) const ROOT: &str = "skill:/";

/// The file that makes a folder a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";

/// All but the unreserved characters (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI of `name` in the folder with the URI `parent`.
pub(crate) fn child(parent: &str, name: &str) -> String {
    format!("{parent}/{}", utf8_percent_encode(name, ENCODED))
}

/// The URI of the folder of a file, if it is not a first name.
pub(crate) fn parent(uri: &str) -> Option<&str> {
    let (parent, _) = uri.rsplit_once('/')?;
    (parent != ROOT).then_some(parent)
}

/// A name as text: `None` if it is not UTF-8, or has control characters or a backslash, which separates names for
/// clients on Windows.
pub(crate) fn readable(name: &[u8]) -> Option<&str> {
    let name = str::from_utf8(name).ok()?;
    let is_plain = |c: char| !c.is_control() && c != '\\' && c != '/';
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}

/// True for a name that begins with a dot, and for the backup of an editor.
pub(crate) fn is_private(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_each_name_in_one_segment() {
        for (name, segment) in [
            ("a.md", "a.md"),
            ("%2e%2e", "%252e%252e"),
            ("a b", "a%20b"),
            ("a?b#c", "a%3Fb%23c"),
            ("é", "%C3%A9"),
            ("e\u{301}", "e%CC%81"),
            ("[a]:@", "%5Ba%5D%3A%40"),
        ] {
            assert_eq!(child("skill://s", name), format!("skill://s/{segment}"));
            assert_eq!(child(ROOT, name), format!("skill://{segment}"));
        }
        assert_eq!(parent("skill://s/a/b"), Some("skill://s/a"));
        assert_eq!(parent("skill://s"), None);
    }

    #[test]
    fn hostile_names_are_not_readable() {
        for name in [&b""[..], b"a\0b", b"a\nb", b"\x1b[2J", b"a\\b", b"a/b", b"\xff", b"\xc3"] {
            assert_eq!(readable(name), None, "{name:?}");
        }
        for name in ["a", "..a", "%2e%2e%2f", "e\u{301}", "\u{202e}"] {
            assert_eq!(readable(name.as_bytes()), Some(name));
        }
        assert!(is_private(".git") && is_private("SKILL.md~") && !is_private("a.b"));
    }
}
