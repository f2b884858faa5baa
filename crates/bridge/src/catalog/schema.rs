//! The schema of a tool, compiled when it is first needed.
//!
//! A schema that does not compile matches nothing as an output schema: the tool then never advertises structured
//! results, and the author is warned when the tool is registered. As an input schema it accepts everything.

use std::fmt;
use std::sync::OnceLock;

use protomcp_schema::{Mismatch, Quote, Validator};
use protomcp_types::RawJson;
use serde_json::Value;

/// A JSON Schema and its validator.
pub(crate) struct Schema {
    text: RawJson,
    validator: OnceLock<Result<Validator, String>>,
    patterns: OnceLock<Option<Validator>>,
}

impl Schema {
    pub(crate) fn new(text: RawJson) -> Self {
        Self { text, validator: OnceLock::new(), patterns: OnceLock::new() }
    }

    pub(crate) fn text(&self) -> &RawJson {
        &self.text
    }

    /// The value is valid. References to other documents are never fetched.
    pub(crate) fn fits(&self, value: &RawJson) -> bool {
        let Ok(value) = value.to::<Value>() else { return false };
        self.validator().is_some_and(|validator| validator.is_valid(&value))
    }

    /// The comparison of these arguments takes longer than the other steps of a call: some milliseconds.
    pub(crate) fn takes_long(&self, arguments: &RawJson) -> bool {
        self.validator().is_some_and(|validator| validator.takes_long(arguments))
    }

    /// Compares the arguments of a call with the schema. They match if the schema does not compile, and do not match if
    /// they would take too much memory to check.
    pub(crate) fn compare(&self, arguments: &RawJson) -> Comparison {
        let Some(validator) = self.validator() else { return Comparison::Match };
        if arguments.max_values() > MAX_VALUES {
            return Comparison::Mismatch(Mismatch::new(format!("more than {MAX_VALUES} values, too many to check")));
        }
        let Ok(value) = arguments.to::<Value>() else { return Comparison::Match };
        if validator.is_valid(&value) {
            return Comparison::Match;
        }
        let decoded = validator.decode_texts(arguments, &value);
        let value = decoded.as_ref().and_then(|decoded| decoded.to::<Value>().ok()).unwrap_or(value);
        // The text may be logged.
        match (validator.check(&value, Quote::Nothing), decoded) {
            (Ok(()), Some(decoded)) => Comparison::Decoded(decoded, None),
            (Ok(()), None) => Comparison::Match,
            (Err(why), Some(decoded)) => Comparison::Decoded(decoded, Some(why)),
            (Err(why), None) => Comparison::Mismatch(why),
        }
    }

    /// A text in these arguments matches no pattern where it has to, or there are too many values to find out.
    pub(crate) fn breaks_pattern(&self, arguments: &RawJson) -> bool {
        let patterns = self.patterns.get_or_init(|| self.validator()?.patterns());
        let Some(patterns) = patterns else { return false };
        arguments.max_values() > MAX_VALUES || arguments.to().is_ok_and(|value| !patterns.is_valid(&value))
    }

    /// The reason why no value is compared with the schema, if there is one.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.compiled().as_ref().err().map(String::as_str)
    }

    fn validator(&self) -> Option<&Validator> {
        self.compiled().as_ref().ok()
    }

    fn compiled(&self) -> &Result<Validator, String> {
        let compile = || Validator::compile(self.text.to::<Value>().map_err(|error| error.to_string())?);
        self.validator.get_or_init(compile)
    }
}

/// Arguments compared with their schema.
#[derive(Debug)]
pub(crate) enum Comparison {
    /// They match as they are.
    Match,
    /// Some of them were the text of the JSON that the schema wants; the other faults, if there are any.
    Decoded(RawJson, Option<Mismatch>),
    /// They do not match.
    Mismatch(Mismatch),
}

/// The most values in checked arguments, some 100 MB as a tree. Megabytes of text or base64 are a few values.
const MAX_VALUES: usize = 1 << 20;

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.text).finish()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_too_many_values_are_not_parsed() {
        let schema = Schema::new(RawJson::parse(r#"{"type":"object"}"#).unwrap());
        let many = format!(r#"{{"list":[{}0]}}"#, "[],".repeat(MAX_VALUES / 2));
        let compared = schema.compare(&RawJson::parse(many).unwrap());
        assert!(matches!(&compared, Comparison::Mismatch(why) if why.to_string().contains("too many to check")));
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(4 * MAX_VALUES));
        assert!(matches!(schema.compare(&RawJson::parse(long).unwrap()), Comparison::Match));
    }

    #[test]
    fn only_arguments_that_are_compared_take_long() {
        let large = RawJson::text(&"x".repeat(1 << 20));
        for (schema, long) in [(r#"{"type":"string"}"#, true), ("7", false)] {
            assert_eq!(Schema::new(RawJson::parse(schema.to_owned()).unwrap()).takes_long(&large), long, "{schema}");
        }
    }

    #[test]
    fn a_value_fits_or_does_not() {
        let schema = Schema::new(
            RawJson::parse(r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#).unwrap(),
        );
        for (value, fits) in [(r#"{"n":1}"#, true), (r#"{"n":"1"}"#, false), ("{}", false), ("3", false)] {
            assert_eq!(schema.fits(&RawJson::parse(value).unwrap()), fits, "{value}");
        }
    }

    #[test]
    fn a_schema_that_does_not_compile_matches_nothing() {
        for text in [r#"{"type":"nonsense"}"#, r#"{"$ref":"http://127.0.0.1:1/x.json"}"#] {
            assert!(!Schema::new(RawJson::parse(text.to_owned()).unwrap()).fits(&RawJson::EMPTY_OBJECT), "{text}");
        }
    }
}
