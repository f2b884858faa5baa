//! The reasons for which a text is not a URI template.

use crate::uri_template::parse::MAX_VARIABLES;

/// A text is not a URI template. Positions are in bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriTemplateError {
    /// The text is longer than [`UriTemplate::MAX_LENGTH`](crate::UriTemplate::MAX_LENGTH).
    #[error("a URI template of {0} bytes is too long")]
    TooLong(usize),
    /// The template has more variables than [`UriTemplate::MAX_VARIABLES`](crate::UriTemplate::MAX_VARIABLES).
    #[error("a URI template may have no more than {MAX_VARIABLES} variables")]
    TooManyVariables,
    /// An opening brace without a closing one, or the reverse.
    #[error("unmatched brace at byte {0}")]
    Unbalanced(usize),
    /// The text between two braces is not an expression (RFC 6570, section 2.2).
    #[error("\"{{{expression}}}\" at byte {at} is not a URI template expression")]
    Expression {
        /// The position of the opening brace.
        at: usize,
        /// The text between the braces.
        expression: String,
    },
}
