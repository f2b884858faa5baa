//! Tokens that clients present as `authorization`, and the principals behind them.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The accepted tokens. Only their digests are kept, and all are compared in constant time.
#[derive(Clone, Default)]
pub struct Tokens(Vec<(Arc<str>, [u8; 32])>);

impl Tokens {
    /// No token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts a token of this principal.
    #[must_use]
    pub fn with(mut self, principal: impl Into<Arc<str>>, token: &str) -> Self {
        self.0.push((principal.into(), Sha256::digest(token.as_bytes()).into()));
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
        self.0.iter().fold(
            None,
            |found, (principal, known)| {
                if bool::from(known.ct_eq(&digest)) { Some(Arc::clone(principal)) } else { found }
            },
        )
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("count", &self.0.len()).finish_non_exhaustive()
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
