//! Text of a server in a line of a report.

use std::borrow::Cow;

/// The text with its control characters escaped, line breaks included: a further line could pose as one of the report, or as a
/// command of a program that reads it.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    Cow::Owned(line)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(one_line("äb c"), "äb c");
        assert_eq!(one_line("a\n✓ b\x1b[2J"), "a\\n✓ b\\u{1b}[2J");
    }
}
