//! The mark with which some programs begin a text in UTF-8.

/// U+FEFF in UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A text in UTF-8 without the mark at its beginning, if it has one. A reader of JSON may ignore it (RFC 8259, section
/// 8.1); programs on Windows and in .NET send it. Inside the text it is a character as any other.
#[must_use]
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}
