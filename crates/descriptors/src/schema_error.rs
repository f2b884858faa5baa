//! The reasons for which a descriptor set is refused.

/// The reason for which a descriptor set is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The bytes are not a descriptor set.
    #[error("the descriptor set is malformed")]
    Malformed,
    /// The set exceeds a limit of [`SchemaLimits`](crate::SchemaLimits).
    #[error("the descriptor set has more {quantity} than {limit}")]
    TooLarge {
        /// The member of the limits, in words.
        quantity: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A file occurs twice.
    #[error("the descriptor set contains {0:?} twice")]
    DuplicateFile(String),
    /// A file imports one that is neither in the set nor a well-known one.
    #[error("{file:?} imports {import:?}, which is missing")]
    MissingImport {
        /// The file.
        file: String,
        /// The import.
        import: String,
    },
    /// Files import each other.
    #[error("the imports of {0:?} form a cycle")]
    Cycle(String),
    /// A file in a syntax that this build does not read: an edition without the feature `validation`, or one that is
    /// not known.
    #[error("{file:?} is written in {syntax:?}, which is not supported")]
    Syntax {
        /// The file.
        file: String,
        /// The syntax.
        syntax: String,
    },
    /// The definitions contradict each other, such as two of one name.
    #[error("the descriptor set is invalid: {0}")]
    Invalid(String),
}

impl SchemaError {
    /// Text of a set, cut to a length that a message can quote.
    pub(crate) fn quote(text: &str) -> String {
        const QUOTED: usize = 200;
        let mut quoted: String = text.chars().take(QUOTED).collect();
        if quoted.len() < text.len() {
            quoted.push('…');
        }
        quoted
    }
}
