//! A compiled JSON Schema.

use std::sync::Arc;
use std::time::Duration;

use jsonschema::Draft;
use protomcp_types::RawJson;
use serde_json::Value;

use crate::explain::explain;
use crate::json_text;
use crate::mismatch::Mismatch;
use crate::patterns::patterns;
use crate::quote::Quote;
use crate::text::shorten;
use crate::work::comparisons;

/// A compiled schema. Cloning is cheap.
///
/// ```
/// use protomcp_schema::{Quote, Validator};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
/// let validator = Validator::compile(schema)?;
/// let mismatch = validator.check(&json!({"city": 7}), Quote::Values).unwrap_err();
/// assert_eq!(mismatch.to_string(), "at /city: expected string, got 7");
/// # Ok::<_, String>(())
/// ```
#[derive(Debug, Clone)]
pub struct Validator {
    compiled: Arc<jsonschema::Validator>,
    schema: Arc<Value>,
    /// Those that a part of a value can take, at most.
    comparisons: usize,
}

impl Validator {
    /// Compiles a schema. References to other documents are never fetched.
    ///
    /// # Errors
    /// The reason why the value is not a schema, or cannot be checked in bounded time: its references multiply, so that a
    /// part of a value could take more than a million comparisons.
    pub fn compile(schema: Value) -> Result<Self, String> {
        let draft = Draft::default().detect(&schema);
        let comparisons = comparisons(&schema, draft)?;
        let compiled = jsonschema::validator_for(&schema).map_err(|error| shorten(error.to_string()))?;
        Ok(Self { compiled: Arc::new(compiled), schema: Arc::new(schema), comparisons })
    }

    /// The most time for the check of a value that [takes long](Self::takes_long), its turn included.
    pub const CHECK_TIME: Duration = Duration::from_secs(10);

    /// True if the check of a value may take longer than some milliseconds: it needs a thread where others do not wait.
    #[must_use]
    pub fn takes_long(&self, value: &RawJson) -> bool {
        value.len() > SHORT_BYTES || value.max_values().saturating_mul(self.comparisons) > SHORT_COMPARISONS
    }

    /// The value matches. Cheaper than [`Validator::check`] for one that does not.
    #[must_use]
    pub fn is_valid(&self, value: &Value) -> bool {
        self.compiled.is_valid(value)
    }

    /// The value with each text decoded that this schema forbids while it allows the JSON inside; the rest stays as it was
    /// written. Hosts send arrays, objects and numbers as the text of their JSON now and then. `value` is `raw`, read. `None`
    /// if the value matches, or has no such text.
    ///
    /// ```
    /// use protomcp_schema::Validator;
    /// use protomcp_types::RawJson;
    /// use serde_json::json;
    ///
    /// let schema = json!({"properties": {"ids": {"type": "array"}, "name": {"type": "string"}}});
    /// let validator = Validator::compile(schema)?;
    /// let sent = RawJson::parse(r#"{"ids": "[1, 2]", "name": "[3]"}"#).map_err(|error| error.to_string())?;
    /// let value = json!({"ids": "[1, 2]", "name": "[3]"});
    /// let decoded = validator.decode_texts(&sent, &value);
    /// assert_eq!(decoded.unwrap().as_str(), r#"{"ids":[1, 2],"name":"[3]"}"#);
    /// # Ok::<_, String>(())
    /// ```
    #[must_use]
    pub fn decode_texts(&self, raw: &RawJson, value: &Value) -> Option<RawJson> {
        if self.is_valid(value) { None } else { json_text::decode(&self.compiled, &self.schema, raw, value) }
    }

    /// The part of the schema that is about the patterns of texts, for a value that others may convert until it matches the
    /// rest. A union in which there is a pattern is kept whole, and one without is left out. The whole schema if that part
    /// cannot be compiled alone. `None` if there is no pattern.
    ///
    /// ```
    /// use protomcp_schema::Validator;
    /// use serde_json::json;
    ///
    /// let schema = json!({"properties": {"n": {"type": "integer"}, "s": {"type": "string", "pattern": "^a+$"}}});
    /// let patterns = Validator::compile(schema)?.patterns().unwrap();
    /// assert!(patterns.is_valid(&json!({"n": "5", "s": "aa"})));
    /// assert!(!patterns.is_valid(&json!({"n": "5", "s": "b"})));
    /// # Ok::<_, String>(())
    /// ```
    #[must_use]
    pub fn patterns(&self) -> Option<Self> {
        let patterns = patterns(&self.schema)?;
        // It may refer to an `$id` in a part that is left out.
        Some(Self::compile(patterns).unwrap_or_else(|_| self.clone()))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// The faults of the value.
    pub fn check(&self, value: &Value, quote: Quote) -> Result<(), Mismatch> {
        // Valid values are the rule, and finding that out is cheaper than looking for faults.
        if self.is_valid(value) {
            return Ok(());
        }
        Err(explain(&self.schema, self.compiled.draft(), value, quote))
    }
}

/// The bytes of a value, and the comparisons, that take a few milliseconds.
const SHORT_BYTES: usize = 256 << 10;
const SHORT_COMPARISONS: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_values_and_wide_schemas_take_long() {
        let plain = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        let branches = (0..4000).map(|index| format!(r#"{{"minLength":{index}}}"#)).collect::<Vec<_>>().join(",");
        let wide = format!(r#"{{"additionalProperties":{{"anyOf":[{branches}]}}}}"#);
        let members = (0..100).map(|index| format!(r#""{index}":"x""#)).collect::<Vec<_>>().join(",");
        for (schema, value, long) in [
            (plain, r#"{"a":"x"}"#.to_owned(), false),
            (plain, format!(r#"{{"a":"{}"}}"#, "x".repeat(SHORT_BYTES)), true),
            (&wide, r#"{"a":"x"}"#.to_owned(), false),
            (&wide, format!("{{{members}}}"), true),
        ] {
            let validator = Validator::compile(serde_json::from_str(schema).unwrap()).unwrap();
            assert_eq!(validator.takes_long(&RawJson::parse(value).unwrap()), long);
        }
    }

    #[test]
    fn patterns_are_checked_together_with_any_reference() {
        let word = json!({"pattern": "^a"});
        for part in
            [json!({"$ref": "#/properties/n/anyOf/0"}), json!({"$ref": "#number"}), json!({"$ref": "#/properties/n"})]
        {
            let number = json!({"anyOf": [{"$anchor": "number", "type": "number"}, {"type": "null"}]});
            let schema = json!({"properties": {"n": number, "m": part, "s": word}});
            let patterns = Validator::compile(schema).unwrap().patterns().unwrap();
            assert!(patterns.is_valid(&json!({"m": "1", "s": "a"})), "{part}");
            assert!(!patterns.is_valid(&json!({"m": 1, "s": "b"})), "{part}");
        }
    }
}
