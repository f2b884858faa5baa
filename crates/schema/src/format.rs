//! The formats of text (JSON Schema 2020-12, validation, section 7.3).

use serde_json::{Value, json};

/// True unless the text cannot have this format, such as `date` or `email`. An unknown format admits every text.
///
/// A [`Validator`](crate::Validator) takes formats as annotations, as the specification has it. This is for a program that
/// reads the text from a person.
#[must_use]
pub fn has_format(text: &str, format: &str) -> bool {
    let rule = jsonschema::options().should_validate_formats(true).build(&json!({"format": format}));
    rule.is_ok_and(|rule| rule.is_valid(&Value::from(text)))
}

#[cfg(test)]
mod tests {
    use super::has_format;

    #[test]
    fn formats_of_forms_are_known() {
        for (format, good, bad) in [
            ("email", "a@b.c", "a b@c"),
            ("email", "a@b.c", "a"),
            ("uri", "https://a.b/?c", "a.b"),
            ("date", "2024-02-29", "2026-02-29"),
            ("date", "2026-11-30", "2026-11-31"),
            ("date-time", "2026-02-28T10:00:00.5+01:00", "2026-02-28T10:00"),
            ("date-time", "2026-02-28t10:00:00z", "2026-02-28T25:00:00Z"),
        ] {
            assert!(has_format(good, format), "{format}: {good}");
            assert!(!has_format(bad, format), "{format}: {bad}");
        }
        assert!(has_format("anything", "color"));
    }
}
