//! Tokens that prove themselves.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::cache::{Cache, Fingerprint};
use crate::claims::Expected;
use crate::client::HttpClient;
use crate::identity::Identity;
use crate::jws::{Algorithm, Unverified};
use crate::key_source::{KeySource, Keys};
use crate::verifier::{TokenError, Verifier};

/// How long a token is believed without another look. A key that its issuer takes back counts for this much longer.
const BELIEVED: Duration = Duration::from_secs(300);

/// Checks signed tokens (RFC 9068) by the keys of their issuer. Keys are fetched at most every 10 seconds, kept for 10
/// minutes, and for a day while the issuer does not answer.
#[derive(Debug)]
pub struct JwtVerifier {
    expected: Expected,
    allowed: Vec<Algorithm>,
    keys: Arc<Keys>,
    cache: Cache,
}

impl JwtVerifier {
    /// Checks tokens by these keys.
    #[must_use]
    pub fn new(expected: Expected, keys: KeySource, client: HttpClient) -> Self {
        let allowed = Algorithm::ALL.to_vec();
        Self { expected, allowed, keys: Keys::new(keys, client), cache: Cache::default() }
    }

    /// Takes only tokens that are signed in one of these ways.
    #[must_use]
    pub fn only(mut self, allowed: &[Algorithm]) -> Self {
        self.allowed = allowed.to_vec();
        self
    }

    /// Fetches the keys now, so that the first request need not wait, and whoever starts the server hears what is wrong.
    ///
    /// # Errors
    /// Why they are not there. They are fetched again when they are needed.
    pub async fn prepare(&self) -> Result<(), TokenError> {
        self.keys.with(|_| true).await.map(drop).map_err(TokenError::Unavailable)
    }
}

impl Verifier for JwtVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        let (fingerprint, now) = (Fingerprint::of(token), Instant::now());
        if let Some(identity) = self.cache.find(fingerprint, now) {
            return Ok(identity);
        }
        let token = Unverified::parse(token, &self.allowed)?;
        let keys = self.keys.with(|keys| keys.knows(token.algorithm, token.key.as_deref())).await;
        let identity = token.verify(&*keys.map_err(TokenError::Unavailable)?, &self.expected, SystemTime::now())?;
        self.cache.keep(fingerprint, identity.clone(), now, believed(&identity, SystemTime::now(), BELIEVED));
        Ok(identity)
    }
}

/// How long to believe a token that ends.
pub(crate) fn believed(identity: &Identity, now: SystemTime, most: Duration) -> Duration {
    identity.expires().map_or(most, |expires| expires.duration_since(now).unwrap_or_default().min(most))
}
