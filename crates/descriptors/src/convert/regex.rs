//! Patterns of JSON Schema (ECMA-262) as patterns of RE2, which protobuf's rules use, and back.
//!
//! A construct that the other side lacks is an error. `.`, `\s` and `\S` keep their text: RE2 differs from ECMA-262 for
//! carriage returns, the line separators of Unicode, and a few spaces.

use regex_syntax::hir::{Hir, HirKind};

/// The highest count of a repetition in RE2.
const MAX_REPEAT: u32 = 1000;

/// The pattern in RE2, or the construct that RE2 does not have.
pub(crate) fn to_re2(pattern: &str) -> Result<String, &'static str> {
    let mut made = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\\' => escape(after, &mut made)?,
            // A range from or to a hyphen. Other engines subtract classes with it.
            '-' if in_class && after.starts_with('-') => return Err("a double hyphen in a class"),
            // Other engines nest classes, and intersect or subtract them.
            '[' | '&' | '~' if in_class => {
                made.push('\\');
                made.push(c);
                after
            }
            ']' if in_class => {
                in_class = false;
                made.push(c);
                after
            }
            '[' if after.starts_with("^]") => {
                made.push_str("(?s:.)");
                &after[2..]
            }
            '[' if after.starts_with(']') => return Err("an empty class"),
            '[' => {
                in_class = true;
                made.push(c);
                after
            }
            '(' if !in_class => group(rest, &mut made)?,
            _ => {
                made.push(c);
                after
            }
        };
    }
    match regex_syntax::parse(&made) {
        Ok(parsed) if repeats_too_often(&parsed) => Err("a repetition of more than 1000"),
        Ok(_) => Ok(made),
        Err(_) => Err("a part of it"),
    }
}

/// Converts the opening of a group, and returns the text after it.
fn group<'a>(rest: &'a str, made: &mut String) -> Result<&'a str, &'static str> {
    if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| rest.starts_with(look)) {
        return Err("look-around");
    }
    if let Some(name) = rest.strip_prefix("(?<") {
        made.push_str("(?P<");
        return Ok(name);
    }
    made.push('(');
    Ok(&rest[1..])
}

/// Converts the escape after a backslash, and returns the text after it.
fn escape<'a>(rest: &'a str, made: &mut String) -> Result<&'a str, &'static str> {
    let Some(c) = rest.chars().next() else { return Err("a backslash at the end") };
    let after = &rest[c.len_utf8()..];
    match c {
        '1'..='9' | 'k' => Err("a back-reference"),
        'c' => Err("a control escape"),
        // These mean a letter in ECMA-262, and something else or nothing in RE2.
        'A' | 'C' | 'E' | 'G' | 'Q' | 'X' | 'Z' | 'a' | 'z' | '<' | '>' => Err("an escape"),
        '0' => {
            made.push_str("\\x00");
            Ok(after)
        }
        '/' => {
            made.push('/');
            Ok(after)
        }
        'u' => {
            let digits = match after.strip_prefix('{') {
                Some(inner) => inner.split('}').next().unwrap_or_default(),
                None => after.get(..4).ok_or("an incomplete escape")?,
            };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err("an incomplete escape");
            }
            made.push_str(&format!("\\x{{{digits}}}"));
            let braces = if after.starts_with('{') { 2 } else { 0 };
            after.get(digits.len() + braces..).ok_or("an incomplete escape")
        }
        _ => {
            made.push('\\');
            made.push(c);
            Ok(after)
        }
    }
}

fn repeats_too_often(pattern: &Hir) -> bool {
    match pattern.kind() {
        HirKind::Repetition(found) => {
            found.min > MAX_REPEAT || found.max.is_some_and(|max| max > MAX_REPEAT) || repeats_too_often(&found.sub)
        }
        HirKind::Capture(group) => repeats_too_often(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(repeats_too_often),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// The pattern in ECMA-262, if it has all constructs.
pub(crate) fn to_ecma(pattern: &str) -> Option<String> {
    let mut made = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\\' => ecma_escape(after, &mut made)?,
            '[' if in_class && after.starts_with(':') => return None,
            '[' if !in_class => {
                in_class = true;
                // A bracket at the beginning of a class is one of its characters.
                let negated = after.strip_prefix('^');
                made.push_str(if negated.is_some() { "[^" } else { "[" });
                let inner = negated.unwrap_or(after);
                let literal = inner.strip_prefix(']');
                made.push_str(if literal.is_some() { "\\]" } else { "" });
                literal.unwrap_or(inner)
            }
            '(' if !in_class && after.starts_with('?') => {
                let (made_group, inner) = match (after.strip_prefix("?P<"), after.strip_prefix("?:")) {
                    (Some(inner), _) => ("(?<", inner),
                    (_, Some(inner)) => ("(?:", inner),
                    _ => return None,
                };
                made.push_str(made_group);
                inner
            }
            _ => {
                in_class &= c != ']';
                made.push(c);
                after
            }
        };
    }
    Some(made)
}

fn ecma_escape<'a>(rest: &'a str, made: &mut String) -> Option<&'a str> {
    let c = rest.chars().next()?;
    let after = &rest[c.len_utf8()..];
    match c {
        'A' => made.push('^'),
        'z' => made.push('$'),
        'a' => made.push_str("\\x07"),
        'C' | 'Q' | 'E' => return None,
        '0'..='9' => return None,
        'p' | 'P' if !after.starts_with('{') => {
            let class = after.chars().next()?;
            made.push_str(&format!("\\{c}{{{class}}}"));
            return Some(&after[class.len_utf8()..]);
        }
        'x' if after.starts_with('{') => {
            let digits = after[1..].split('}').next()?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            let text = if code <= 0xffff { format!("\\u{code:04x}") } else { format!("\\u{{{code:x}}}") };
            made.push_str(&text);
            return after.get(digits.len() + 2..);
        }
        _ => {
            made.push('\\');
            made.push(c);
        }
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_rewritten_or_refused() {
        for (pattern, expected) in [
            ("^[a-z]+$", Ok("^[a-z]+$")),
            (r"\d{3}\/\w", Ok(r"\d{3}/\w")),
            (r"[\u0041-\u{5a}]", Ok(r"[\x{0041}-\x{5a}]")),
            ("(?<year>[0-9]{4})", Ok("(?P<year>[0-9]{4})")),
            ("(?:a|b)", Ok("(?:a|b)")),
            ("[[&&x~~]", Ok(r"[\[\&\&x\~\~]")),
            ("[(?=]", Ok("[(?=]")),
            ("a[^]b", Ok("a(?s:.)b")),
            ("a--[-a-z-]", Ok("a--[-a-z-]")),
            ("^[!--]+$", Err("a double hyphen in a class")),
            ("[--a]", Err("a double hyphen in a class")),
            ("a[]", Err("an empty class")),
            ("(?=a)", Err("look-around")),
            ("a(?<!b)", Err("look-around")),
            (r"(a)\1", Err("a back-reference")),
            (r"\cA", Err("a control escape")),
            (r"\u12", Err("an incomplete escape")),
            (r"\ud83d\ude00", Err("a part of it")),
            ("a\\", Err("a backslash at the end")),
            ("(a{2000})?", Err("a repetition of more than 1000")),
            ("a(b", Err("a part of it")),
            (r"\Qa", Err("an escape")),
        ] {
            assert_eq!(to_re2(pattern).as_deref().map_err(|error| *error), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_of_re2_are_rewritten_or_left_out() {
        for (pattern, expected) in [
            ("^[a-z]+$", Some("^[a-z]+$")),
            (r"(?P<a>\x{41}\x{1f600})", Some(r"(?<a>\u0041\u{1f600})")),
            (r"\A\pL\PN\p{Greek}\z", Some(r"^\p{L}\P{N}\p{Greek}$")),
            ("[]a][^]b]", Some(r"[\]a][^\]b]")),
            ("(?:a)", Some("(?:a)")),
            ("(?i)a", None),
            ("[[:alpha:]]", None),
            (r"\Qa.b\E", None),
            (r"\101", None),
        ] {
            assert_eq!(to_ecma(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
