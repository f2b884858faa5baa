//! Integers of JSON that a message would change.
//!
//! A reader of JSON turns an integer that no 64-bit type holds into floating point, and a `google.protobuf.Value` or a
//! `double` keeps 53 bits of any. Such a change would go unnoticed, so integers of 16 digits and more are looked for in
//! the JSON form of the message that was read. Few texts contain one.

use std::collections::BTreeMap;

/// The fewest digits of an integer beyond 2^53.
const WIDE: usize = 16;

/// The integers of a JSON text that have many digits.
pub(crate) fn wide_integers(json: &str) -> Vec<&str> {
    let is_wide = |literal: &&str| {
        literal.len() >= WIDE && literal.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit())
    };
    literals(json).filter(is_wide).collect()
}

/// The first of `integers` that is not among the numbers of `json`.
pub(crate) fn first_lost<'a>(integers: &[&'a str], json: &str) -> Option<&'a str> {
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    for literal in literals(json) {
        *kept.entry(digits(literal)).or_default() += 1;
    }
    integers.iter().copied().find(|integer| match kept.get_mut(*integer) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    })
}

/// All digits of a number without a fraction, also if it is written with an exponent.
fn digits(literal: &str) -> String {
    if !literal.contains(['.', 'e', 'E']) {
        return literal.to_owned();
    }
    literal.parse::<f64>().map_or_else(|_| literal.to_owned(), |value| format!("{value:.0}"))
}

/// The numbers of a JSON text.
fn literals(json: &str) -> impl Iterator<Item = &str> {
    let (mut in_string, mut is_escaped) = (false, false);
    json.split(move |c: char| {
        if in_string {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            return true;
        }
        in_string = c == '"';
        !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))
    })
    .filter(|part| part.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_outside_of_texts_are_wide() {
        let json =
            r#"{"a":9007199254740993,"b":"9007199254740994","c\"1234567890123456":[-9007199254740995,1.5e300,12]}"#;
        assert_eq!(wide_integers(json), ["9007199254740993", "-9007199254740995"]);
        assert_eq!(wide_integers("1234567890123456"), ["1234567890123456"]);
    }

    #[test]
    fn numbers_are_compared_by_their_digits() {
        assert_eq!(first_lost(&["18446744073709551616"], r#"{"a":1.8446744073709552e19}"#), None);
        assert_eq!(first_lost(&["9007199254740993"], r#"{"a":9007199254740992.0}"#), Some("9007199254740993"));
        assert_eq!(
            first_lost(&["9007199254740993", "9007199254740993"], "[9007199254740993]"),
            Some("9007199254740993")
        );
    }
}
