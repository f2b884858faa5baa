//! The rules of `buf.validate`, by the library `prost-protovalidate`.
//!
//! The library finds rules that a schema defines itself only in encoded descriptors, so it gets the whole pool of such
//! a schema; it builds another one of it, which takes megabytes. It is not trusted not to panic on rules of a peer, and
//! has no limit on the cost of an expression.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use prost_protovalidate as library;

use crate::message_type::Message;
use crate::schema::Schema;
use crate::schema_error::SchemaError;
use crate::validation::{EntryPart, ValidationError, Validator, Violation};

/// Validates messages by the rules of `buf.validate` in their schema, with CEL.
///
/// Rules are compiled when a type is validated for the first time. An expression of a peer can take long: validate
/// messages of schemas that are not trusted on a thread that may be kept busy.
pub struct Protovalidate(library::Validator);

impl Protovalidate {
    /// A validator for the messages of `schema`, with the time of the system.
    #[must_use]
    pub fn new(schema: &Schema) -> Self {
        Self::with_clock(schema, SystemTime::now)
    }

    /// A validator for the messages of `schema`. `clock` is the time for rules about the past and the future.
    #[must_use]
    pub fn with_clock(schema: &Schema, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        let mut options = vec![library::ValidatorOption::NowFn(Arc::new(move || clock().into()))];
        if schema.has_extensions() {
            options.push(library::ValidatorOption::AdditionalDescriptorSetBytes(schema.pool().encode_to_vec()));
        }
        Self(library::Validator::with_options(&options))
    }
}

impl Validator for Protovalidate {
    fn validate(&self, message: &Message) -> Result<(), ValidationError> {
        let validated = catch_unwind(AssertUnwindSafe(|| self.0.validate(message.dynamic())));
        match validated {
            Ok(Ok(())) => Ok(()),
            Ok(Err(library::Error::Validation(error))) => {
                Err(ValidationError::Violations(error.violations().iter().map(violation).collect()))
            }
            Ok(Err(error)) => Err(ValidationError::Rules(SchemaError::quote(&error.to_string()))),
            Err(_) => Err(ValidationError::Rules("the evaluation failed".to_owned())),
        }
    }
}

impl fmt::Debug for Protovalidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protovalidate").finish_non_exhaustive()
    }
}

fn violation(found: &library::Violation) -> Violation {
    Violation {
        field: found.field_path(),
        rule: found.rule_path(),
        rule_id: found.rule_id().to_owned(),
        message: found.message().to_owned(),
        part: if found.for_key() == Some(true) { EntryPart::Key } else { EntryPart::Value },
    }
}
