//! A text of a configuration without its values: a change of it is printed, and they are secrets of others.

use std::ops::Range;

use crate::document::comments::{Blanked, is_space, string_end};
use crate::document::edit::{EditError, Format};
use crate::document::toml;

/// The text with `[redacted]` in place of each text, number and comment, except in this range. Names, truth values and
/// layout stay.
///
/// # Errors
///
/// The text is not in its format.
pub(crate) fn hidden(text: &str, format: Format, kept: Option<&Range<usize>>) -> Result<String, EditError> {
    let mut values = match format {
        Format::Toml => toml::values(text)?,
        _ => json_values(text, format)?,
    };
    values.sort_by_key(|value| value.start);
    let (mut hidden, mut copied) = (String::new(), 0);
    let is_kept = |value: &Range<usize>| kept.is_some_and(|kept| kept.start <= value.start && value.end <= kept.end);
    for value in values.into_iter().filter(|value| !is_kept(value)) {
        hidden.push_str(&text[copied..value.start]);
        hidden.push_str(&mark(&text[value.clone()]));
        copied = value.end;
    }
    Ok(hidden + &text[copied..])
}

/// The text in the place of a value or a comment, with as many lines.
fn mark(part: &str) -> String {
    let mark = match part.as_bytes() {
        [b'/', b'/', ..] => "// [redacted]",
        [b'/', b'*', ..] => "/* [redacted] */",
        [b'#', ..] => "# [redacted]",
        _ => "\"[redacted]\"",
    };
    mark.to_owned() + &"\n".repeat(part.matches('\n').count())
}

/// The texts, numbers and comments.
fn json_values(text: &str, format: Format) -> Result<Vec<Range<usize>>, EditError> {
    let file = Blanked::new(text, format)?;
    let code = file.code.as_bytes();
    let mut found = file.comments;
    let mut at = 0;
    while at < code.len() {
        let is_number = |byte: &u8| byte.is_ascii_digit() || b"-+.eE".contains(byte);
        let end = match code[at] {
            b'"' => string_end(code, at),
            b'-' | b'0'..=b'9' => at + code[at..].iter().take_while(|byte| is_number(byte)).count(),
            _ => {
                at += 1;
                continue;
            }
        };
        let next = code[end..].iter().find(|byte| !is_space(**byte));
        if next != Some(&b':') {
            found.push(at..end);
        }
        at = end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_and_values_do_not() {
        let json = "{ // key: x\n  \"a\": [\"x\", -1.5e3, true, null], /* x\n x */ \"b\": {\"c\" : \"\\\"x\"}\n}";
        let of_json = "{ // [redacted]\n  \"a\": [\"[redacted]\", \"[redacted]\", true, null], /* [redacted] */\n \"b\": \
            {\"c\" : \"[redacted]\"}\n}";
        let toml = "# x\n[a.'b#\"']\nc = \"#x\" # x\n\"d # \" = [1, 'x', { e = 2024-01-01 }]\nf = true\n[[g]]\nh = \"\"\"x\nx\"\"\"\n";
        let of_toml = "# [redacted]\n[a.'b#\"']\nc = \"[redacted]\" # [redacted]\n\"d # \" = [\"[redacted]\", \"[redacted]\", \
            { e = \"[redacted]\" }]\nf = \"[redacted]\"\n[[g]]\nh = \"[redacted]\"\n\n";
        for (format, text, expected) in [(Format::Jsonc, json, of_json), (Format::Toml, toml, of_toml)] {
            assert_eq!(hidden(text, format, None).as_deref(), Ok(expected));
            assert_eq!(hidden(text, format, Some(&(0..text.len()))).as_deref(), Ok(text));
        }
    }
}
