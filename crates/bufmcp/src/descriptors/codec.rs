//! The messages of one tool, loaded: JSON to bytes and back, with the rules between.

use protomcp_descriptors::{
    Message, MessageError, MessageLimits, MessageType, Schema, ValidationError, Validator, WideIntegers,
};
use protomcp_types::RawJson;

use crate::any::Any;
use crate::descriptors::budget::unusable;
use crate::descriptors::gaps::Gaps;
use crate::schemas::{Converted, SchemaError, Violation};
use crate::struct_schemas::well_known_to_json;
use crate::well_known;

/// The most violations in an answer.
const MAX_VIOLATIONS: usize = 32;

/// The most characters of each part of a violation: a path has the keys of maps in it.
const MAX_TEXT: usize = 300;

/// The messages of a tool.
#[derive(Debug)]
pub(super) struct Codec {
    schema: Schema,
    input: MessageType,
    output: Option<MessageType>,
    validator: Option<Box<dyn Validator>>,
    gaps: Option<Gaps>,
    limits: MessageLimits,
}

impl Codec {
    /// Loads the rules of the messages, and compiles the rules of the input.
    pub(super) fn new(schema: Schema, input: MessageType, output: Option<MessageType>, gaps: Option<Gaps>) -> Self {
        let validator = validator(&schema);
        if let Some(validator) = &validator {
            // Only the compiled rules are wanted: an empty message may violate them.
            drop(validator.validate(&input.empty()));
        }
        Self { schema, input, output, validator, gaps, limits: MessageLimits::default() }
    }

    /// Arguments that have arrived, as JSON.
    pub(super) fn arguments_to_json(&self, arguments: Option<&Any>) -> Result<RawJson, SchemaError> {
        let message = match arguments {
            None => self.input.empty(),
            Some(any) => self.input.unpack(&any.type_url, &any.value, &self.limits)?,
        };
        self.check(&message)?;
        let json = message.to_json(WideIntegers::Numbers, &self.limits)?;
        let json = match &self.gaps {
            Some(gaps) => gaps.fill(json),
            None => json,
        };
        RawJson::parse(json).map_err(|error| SchemaError::Invalid(error.to_string()))
    }

    /// Arguments that are sent, as a message.
    pub(super) fn arguments_to_any(&self, arguments: &RawJson) -> Result<Any, SchemaError> {
        let message = self.input.parse_json(arguments.as_str(), &self.limits)?;
        self.check(&message)?;
        Ok(Any::new(self.input.full_name(), message.encode()))
    }

    /// A result that is sent: a message of the output, or a well-known one if it does not fit.
    pub(super) fn result_to_any(&self, structured: &RawJson) -> Result<Converted<Any>, SchemaError> {
        let Some(output) = &self.output else { return well_known::to_any(structured) };
        match output.parse_json(structured.as_str(), &self.limits) {
            Ok(message) => Ok(Converted::exact(Any::new(output.full_name(), message.encode()))),
            Err(error) => {
                tracing::debug!(output = output.full_name(), "a result is sent as a well-known type: {error}");
                well_known::to_any(structured)
            }
        }
    }

    /// A result that has arrived: any message of the schema, or a well-known one.
    pub(super) fn result_to_json(&self, data: &Any) -> Result<Converted<RawJson>, SchemaError> {
        let name = data.type_name();
        let Some(found) = self.schema.message(name).filter(|_| !name.starts_with("google.protobuf.")) else {
            return well_known_to_json(data);
        };
        let message = found.decode(&data.value, &self.limits)?;
        let json = message.to_json(WideIntegers::Numbers, &self.limits)?;
        RawJson::parse(json).map(Converted::exact).map_err(|error| SchemaError::Invalid(error.to_string()))
    }

    /// True if arguments are checked against rules.
    pub(super) fn has_rules(&self) -> bool {
        self.validator.is_some()
    }

    fn check(&self, message: &Message) -> Result<(), SchemaError> {
        let Some(validator) = &self.validator else { return Ok(()) };
        validator.validate(message).map_err(|error| match error {
            ValidationError::Violations(found) => {
                SchemaError::Violations(found.into_iter().take(MAX_VIOLATIONS).map(violation).collect())
            }
            other => unusable(other.to_string()),
        })
    }
}

#[cfg(feature = "validation")]
fn validator(schema: &Schema) -> Option<Box<dyn Validator>> {
    schema.may_have_rules().then(|| Box::new(protomcp_descriptors::Protovalidate::new(schema)) as Box<dyn Validator>)
}

/// This build knows no rules.
#[cfg(not(feature = "validation"))]
fn validator(_: &Schema) -> Option<Box<dyn Validator>> {
    None
}

fn violation(found: protomcp_descriptors::Violation) -> Violation {
    let protomcp_descriptors::Violation { field, rule_id, message, .. } = found;
    let message = if message.is_empty() { rule_id.clone() } else { message };
    Violation { field: cut(field), rule_id: cut(rule_id), message: cut(message) }
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(at);
        text.push('…');
    }
    text
}

impl From<MessageError> for SchemaError {
    fn from(error: MessageError) -> Self {
        Self::Invalid(error.to_string())
    }
}
