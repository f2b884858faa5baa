//! The reasons for which a reference has no schema.

use std::fmt;
use std::time::Duration;

/// The reason for which a reference has no schema. Never contains a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveError {
    cause: Cause,
    message: String,
    retry_after: Option<Duration>,
}

/// The kind of a failure, as `data.cause` of error -33000 names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The registry has no such module, version or message.
    NotFound,
    /// The registry cannot be reached, or fails.
    Unavailable,
    /// The registry wants a token, or another one.
    Unauthenticated,
    /// The registry wants fewer requests.
    RateLimited,
    /// The registry rejects the reference, or its host is not allowed.
    InvalidRef,
    /// The answer is not a usable schema.
    InvalidSchema,
}

/// The longest time that a registry can ask to wait. It is remembered, so a longer one would hide a registry that answers
/// again.
const LONGEST_DELAY: Duration = Duration::from_secs(600);

impl ResolveError {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), retry_after: None }
    }

    pub(crate) fn retry_after(mut self, delay: Option<Duration>) -> Self {
        self.retry_after = delay.map(|delay| delay.min(LONGEST_DELAY));
        self
    }

    /// The kind.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// The time that the registry asks to wait, at most ten minutes.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl Cause {
    /// The word in `data.cause`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Unavailable => "unavailable",
            Self::Unauthenticated => "unauthenticated",
            Self::RateLimited => "rate_limited",
            Self::InvalidRef => "invalid_ref",
            Self::InvalidSchema => "invalid_schema",
        }
    }

    /// True if the same request may succeed later without a change.
    #[must_use]
    pub fn is_temporary(self) -> bool {
        matches!(self, Self::Unavailable | Self::RateLimited)
    }
}

impl Cause {
    /// True for a failure that says nothing about the schema itself. A page of maintenance is one, too.
    pub(crate) fn is_outage(self) -> bool {
        self.is_temporary() || self == Self::InvalidSchema
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ResolveError {}
