//! The form of a text in the catalogue: the one that is shown, with `…` for each part that varies.

/// A literal without its escapes.
pub(super) fn unescaped(literal: &str) -> String {
    let mut text = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let Some(escape) = after.chars().next() else {
            text.push('\\');
            return text;
        };
        rest = &after[escape.len_utf8()..];
        match escape {
            '\n' => rest = rest.trim_start(),
            'n' | 'r' | 't' => text.push(' '),
            'u' if rest.starts_with('{') => {
                let (digits, behind) = rest[1..].split_once('}').unwrap_or((&rest[1..], ""));
                text.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
                rest = behind;
            }
            '"' | '\'' | '\\' | '`' => text.push(escape),
            other => text.extend(['\\', other]),
        }
    }
    text + rest
}

/// The text of a format string of Rust: `{…}` is a part that varies, `{{` and `}}` are braces.
pub(super) fn with_placeholders(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            text.push_str(brace);
            rest = after;
        } else if let Some((_, after)) = rest.split_once('}').filter(|_| brace == "{") {
            text.push('…');
            rest = after;
        } else {
            text.push_str(brace);
        }
    }
    text + rest
}

/// One space between words, and one `…` for parts that follow each other.
pub(super) fn tidy(text: &str) -> String {
    let mut tidy = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while tidy.contains("……") {
        tidy = tidy.replace("……", "…");
    }
    tidy
}

/// True if the text has two words or more, so that a person can search for it.
pub(super) fn is_text(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    text.contains(' ') && words.filter(|word| word.len() > 1 || word.eq_ignore_ascii_case("a")).count() > 1
}

#[test]
fn literals_have_one_form() {
    for (literal, form) in [
        (r#"file \"{name}\" of {} bytes"#, "file \"…\" of … bytes"),
        ("one \\\n    line", "one line"),
        (r"a\nb {0}{1:?}", "a b …"),
        (r#"such as {{\"a\":{b}}}"#, "such as {\"a\":…}"),
        (r"a { brace", "a { brace"),
        (r"minus \u{2212}1 \d", "minus −1 \\d"),
    ] {
        assert_eq!(tidy(&with_placeholders(&unescaped(literal))), form, "{literal}");
    }
}

#[test]
fn wrappers_and_single_words_are_not_texts() {
    for (text, expected) in [
        ("…: …", false),
        ("cancelled", false),
        ("server … is …", true),
        ("a tool", true),
        ("line …", false),
        ("no method", true),
        ("two-words", false),
    ] {
        assert_eq!(is_text(text), expected, "{text}");
    }
}
