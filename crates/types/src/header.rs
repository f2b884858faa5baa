//! Text in HTTP header fields (MCP 2026-07-28, basic/transports).
//!
//! Requests repeat parts of their body in header fields, for proxies that do not read bodies. Text that a field cannot
//! carry is wrapped: `=?base64?…?=`.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The prefix of the fields that repeat arguments of a tool, in lower case.
pub const PARAM_PREFIX: &str = "mcp-param-";

const START: &str = "=?base64?";
const END: &str = "?=";

/// The member of the parameters that the field `Mcp-Name` repeats; `None` for methods without that field.
#[must_use]
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// The value of a field for this text: the text itself, or wrapped if it has characters other than printable ASCII,
/// begins or ends with a blank, or looks wrapped.
///
/// ```
/// use protomcp_types::header;
///
/// assert_eq!(header::encode("two words"), "two words");
/// assert_eq!(header::encode(" padded"), "=?base64?IHBhZGRlZA==?=");
/// assert_eq!(header::decode("=?base64?IHBhZGRlZA==?=").as_deref(), Some(" padded"));
/// ```
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let is_padded = text.starts_with(' ') || text.ends_with(' ');
    // A reader may be lenient about letter case, so every spelling is wrapped.
    let looks_wrapped = text
        .split_at_checked(START.len())
        .is_some_and(|(start, rest)| start.eq_ignore_ascii_case(START) && rest.ends_with(END));
    if is_printable && !is_padded && !looks_wrapped {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{START}{}{END}", STANDARD.encode(text)))
}

/// The text of a field. `None` if it is wrapped and its base64 is not exact, or not UTF-8.
#[must_use]
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    match value.strip_prefix(START).and_then(|value| value.strip_suffix(END)) {
        // The engine is strict about padding and trailing bits.
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_wrapped_only_if_a_field_cannot_carry_it() {
        for plain in ["", "a", "two  words", "~!", "=?base64?SGVsbG8=", "SGVsbG8=?=", "=?base64?="] {
            assert_eq!(encode(plain), plain);
        }
        for (text, wrapped) in [
            (" a", "=?base64?IGE=?="),
            ("a ", "=?base64?YSA=?="),
            ("a\tb", "=?base64?YQli?="),
            ("a\r\nb", "=?base64?YQ0KYg==?="),
            ("ü", "=?base64?w7w=?="),
            ("\u{7f}", "=?base64?fw==?="),
            ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
            ("=?BASE64?x?=", "=?base64?PT9CQVNFNjQ/eD89?="),
        ] {
            assert_eq!(encode(text), wrapped);
        }
    }

    #[test]
    fn wrapped_text_is_read_strictly() {
        for (value, decoded) in [
            ("plain", Some("plain")),
            ("  two words\t", Some("two words")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64?w7w=?=", Some("ü")),
            ("=?base64??=", Some("")),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("SGVsbG8=?=", Some("SGVsbG8=?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVsb!8=?=", None),
            ("=?base64?SGVsbG9=?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(decode(value).as_deref(), decoded, "{value}");
        }
    }

    proptest! {
        #[test]
        fn text_survives(text: String) {
            let value = encode(&text);
            prop_assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')));
            let decoded = decode(&value).unwrap();
            prop_assert_eq!(&decoded, &text);
        }
    }
}
