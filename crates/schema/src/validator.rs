//! A compiled JSON Schema.

use std::sync::Arc;

use protomcp_types::RawJson;
use serde_json::Value;

use crate::explain::{explain, shorten};
use crate::json_text;
use crate::mismatch::Mismatch;

/// The values that an explanation repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// Short values are repeated: the explanation goes back to the sender of the value.
    Values,
    /// No value is repeated: the explanation may end up in a log.
    Nothing,
}

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
}

impl Validator {
    /// Compiles a schema. References to other documents are never fetched.
    ///
    /// # Errors
    /// The reason why the value is not a schema.
    pub fn compile(schema: Value) -> Result<Self, String> {
        let compiled = jsonschema::validator_for(&schema).map_err(|error| shorten(error.to_string()))?;
        Ok(Self { compiled: Arc::new(compiled), schema: Arc::new(schema) })
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
        if self.is_valid(value) { None } else { json_text::decode(&self.compiled, raw, value) }
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
        Err(explain(&self.compiled, &self.schema, value, quote))
    }
}
