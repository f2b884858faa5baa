//! Literals of source text.

use std::fmt::Write as _;

/// A string literal.
pub(crate) fn quoted(text: &str) -> String {
    let mut made = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => made.push_str("\\\""),
            '\\' => made.push_str("\\\\"),
            '\n' => made.push_str("\\n"),
            '\r' => made.push_str("\\r"),
            '\t' => made.push_str("\\t"),
            c if u32::from(c) < 0x20 || c == '\x7f' => {
                let _ = write!(made, "\\{:03o}", u32::from(c));
            }
            c => made.push(c),
        }
    }
    made.push('"');
    made
}
