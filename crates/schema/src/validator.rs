//! A compiled JSON Schema.

use std::sync::Arc;

use serde_json::Value;

use crate::explain::{explain, shorten};
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
