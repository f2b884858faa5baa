//! Texts of a peer in lines for people.

use std::borrow::Cow;

/// False for a character that a terminal executes, that changes the direction of others, that separates lines or
/// paragraphs, or that has no width and no meaning in a text. Joiners are shown: scripts and emoji need them.
#[must_use]
pub fn is_shown(c: char) -> bool {
    let is_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_separator = matches!(c, '\u{2028}' | '\u{2029}');
    let has_no_width = matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    !(c.is_control() || is_direction || is_separator || has_no_width)
}

/// A text that a peer has given, such as a name, within a line of a report: characters that are not [shown](is_shown) are
/// escaped, line breaks included. A further line could pose as one of the report, and a change of direction as another
/// name.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_shown(c) {
            line.push(c);
        } else {
            line.extend(c.escape_default());
        }
    }
    Cow::Owned(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_are_not_shown_are_escaped() {
        for (text, line) in [
            ("äb c", "äb c"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
            ("a\n✓ b\x1b[2J", "a\\n✓ b\\u{1b}[2J"),
            ("eso\u{202e}lc", "eso\\u{202e}lc"),
            ("a\u{2028}b\u{200b}\u{9b}", "a\\u{2028}b\\u{200b}\\u{9b}"),
        ] {
            assert_eq!(one_line(text), line);
        }
        assert!(matches!(one_line("plain"), Cow::Borrowed(_)));
    }
}
