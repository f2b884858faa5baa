//! Tokens that clients present as `authorization`, and the principals behind them.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The accepted tokens. Only their digests are kept, and all are compared in constant time.
#[derive(Clone, Default)]
pub struct Tokens {
    known: Vec<(Arc<str>, [u8; 32])>,
    /// The time of the last line of the log about a refusal, and the number of those without a line since.
    noted: Arc<Mutex<(Option<Instant>, u64)>>,
}

/// The time between two lines of the log, which strangers could fill otherwise.
const NOTE_INTERVAL: Duration = Duration::from_secs(1);

impl Tokens {
    /// No token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts a token of this principal.
    #[must_use]
    pub fn with(mut self, principal: impl Into<Arc<str>>, token: &str) -> Self {
        self.known.push((principal.into(), Sha256::digest(token.as_bytes()).into()));
        self
    }

    /// The principal of a value of `authorization`: `Bearer` and a token (RFC 6750, section 2.1).
    #[must_use]
    pub fn principal(&self, authorization: &str) -> Option<Arc<str>> {
        let (scheme, token) = authorization.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let digest: [u8; 32] = Sha256::digest(token.trim().as_bytes()).into();
        // Every digest is compared, so that the time does not tell which one is like it.
        self.known.iter().fold(
            None,
            |found, (principal, known)| {
                if bool::from(known.ct_eq(&digest)) { Some(Arc::clone(principal)) } else { found }
            },
        )
    }
}

impl Tokens {
    /// Notes in the log that a request is refused, without its token.
    pub(crate) fn note_refusal(&self, why: &str) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let ((last, left_out), now) = (&mut *noted, Instant::now());
        if last.is_some_and(|last| now.saturating_duration_since(last) < NOTE_INTERVAL) {
            *left_out += 1;
            return;
        }
        *last = Some(now);
        tracing::info!(
            left_out = NonZeroU64::new(std::mem::take(left_out)),
            "a request of proto-mcp was refused: {why}"
        );
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("count", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_is_accepted() {
        let tokens = Tokens::new().with("ann", "s3cret").with("bob", "other");
        for (authorization, principal) in [
            ("Bearer s3cret", Some("ann")),
            ("bearer  other ", Some("bob")),
            ("Bearer s3cre", None),
            ("Bearer s3crets", None),
            ("s3cret", None),
            ("Basic s3cret", None),
            ("Bearer", None),
            ("", None),
        ] {
            assert_eq!(tokens.principal(authorization).as_deref(), principal, "{authorization:?}");
        }
        assert!(!format!("{tokens:?}").contains("s3cret"));
    }
}
