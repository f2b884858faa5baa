//! Validation of messages by the rules of their schema, as a trait: the library behind it can be replaced.

use std::fmt;

use crate::message_type::Message;

/// Validates messages of one schema.
pub trait Validator: fmt::Debug + Send + Sync {
    /// Checks a message against the rules of its type.
    ///
    /// # Errors
    ///
    /// Fails with all violations, or if the rules themselves are broken.
    fn validate(&self, message: &Message) -> Result<(), ValidationError>;
}

/// The reason for which a message is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidationError {
    /// The message violates rules. There is at least one violation.
    #[error("{}", summary(.0))]
    Violations(Vec<Violation>),
    /// A rule cannot be compiled or evaluated: an error of the schema.
    #[error("a rule of the schema cannot be evaluated: {0}")]
    Rules(String),
}

/// One rule that a message violates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field, such as `items[0].name` or `scores["a"]`; empty for the message itself.
    pub field: String,
    /// The path of the rule in `buf.validate`, such as `string.min_len`; empty for one without a path.
    pub rule: String,
    /// The id of the rule.
    pub rule_id: String,
    /// The rule in words.
    pub message: String,
    /// The part of an entry of a map that violates the rule.
    pub part: EntryPart,
}

/// The part of an entry of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EntryPart {
    /// The value, or a field that is not a map.
    #[default]
    Value,
    /// The key.
    Key,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        let text = if self.message.is_empty() { &self.rule_id } else { &self.message };
        f.write_str(text)
    }
}

fn summary(violations: &[Violation]) -> String {
    const SHOWN: usize = 5;
    let mut text: Vec<_> = violations.iter().take(SHOWN).map(ToString::to_string).collect();
    if violations.len() > SHOWN {
        text.push(format!("{} more", violations.len() - SHOWN));
    }
    text.join("; ")
}
