//! The credentials of a message.

use std::fmt;

/// A value of `authorization`, as the client has sent it. It is not shown in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization(String);

impl Authorization {
    pub(crate) fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, usually `Bearer` and a token.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(..)")
    }
}
