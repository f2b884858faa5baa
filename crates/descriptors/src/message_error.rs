//! The reasons for which a message does not fit its descriptor.

/// The reason for which a message is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The type URL names another message.
    #[error("expected a message of type {expected}, got {found:?}")]
    WrongType {
        /// The full name of the expected message.
        expected: String,
        /// The type URL.
        found: String,
    },
    /// The bytes are not a message of the type.
    #[error("malformed {message}: {reason}")]
    Malformed {
        /// The full name of the message.
        message: String,
        /// The reason.
        reason: String,
    },
    /// The JSON does not fit the type, for example because of an unknown key.
    #[error("the JSON does not fit {message}: {reason}")]
    Json {
        /// The full name of the message.
        message: String,
        /// The reason, which names the key.
        reason: String,
    },
    /// The message exceeds a limit of [`MessageLimits`](crate::MessageLimits).
    #[error("the message has more {quantity} than {limit}")]
    TooLarge {
        /// The member of the limits, in words.
        quantity: &'static str,
        /// The limit.
        limit: usize,
    },
}

pub(crate) fn check(quantity: &'static str, count: usize, limit: usize) -> Result<(), MessageError> {
    if count > limit { Err(MessageError::TooLarge { quantity, limit }) } else { Ok(()) }
}
