//! Verifies signed tokens by the keys of their issuer.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::algorithm::Algorithm;
use crate::cache::{Cache, Fingerprint};
use crate::claims::TokenPolicy;
use crate::http_client::HttpClient;
use crate::identity::Identity;
use crate::jws::Unverified;
use crate::key_source::{KeySource, Keys};
use crate::verifier::{TokenError, Verifier};

/// The longest time that a verified token is cached. A revoked key remains valid for this much longer.
const MAX_CACHE_TTL: Duration = Duration::from_secs(300);

/// Checks signed tokens (RFC 9068) by the keys of their issuer. Keys are fetched at most every 10 seconds, cached for
/// 10 minutes, and for a day while the issuer does not answer. A token whose key is unknown waits at most three seconds
/// for newer keys; while the existence of its key is undecided, the token is [unavailable](TokenError::Unavailable),
/// not invalid.
#[derive(Debug)]
pub struct JwtVerifier {
    expected: TokenPolicy,
    allowed: Vec<Algorithm>,
    keys: Arc<Keys>,
    cache: Cache<Identity>,
}

impl JwtVerifier {
    /// Checks tokens by these keys.
    #[must_use]
    pub fn new(expected: TokenPolicy, keys: KeySource, client: HttpClient) -> Self {
        let allowed = Algorithm::ALL.to_vec();
        Self { expected, allowed, keys: Keys::new(keys, client), cache: Cache::default() }
    }

    /// Accepts only tokens that are signed with one of these algorithms.
    #[must_use]
    pub fn only(mut self, allowed: &[Algorithm]) -> Self {
        self.allowed = allowed.to_vec();
        self
    }

    /// Fetches the keys now, so that the first request need not wait and a faulty configuration is found at the start.
    ///
    /// # Errors
    /// The reason why the keys cannot be fetched. They are fetched again when they are needed.
    pub async fn prepare(&self) -> Result<(), TokenError> {
        self.keys.prepare().await.map_err(TokenError::Unavailable)
    }
}

impl JwtVerifier {
    async fn verify_at(&self, token: &str, clock: impl Fn() -> SystemTime) -> Result<Identity, TokenError> {
        let (fingerprint, now) = (Fingerprint::of(token), Instant::now());
        if let Some(identity) = self.cache.find(fingerprint, now) {
            return Ok(identity);
        }
        let (bytes, token) = (token.len(), Unverified::parse(token, &self.allowed)?);
        let verdict = self.keys.ask(|keys| token.verdict(keys), || token.age(clock())).await;
        let identity = token.check(verdict.map_err(TokenError::Unavailable)?, &self.expected, clock())?;
        let until = Instant::now() + cache_ttl(&identity, clock(), MAX_CACHE_TTL);
        self.cache.keep(fingerprint, identity.clone(), bytes, until);
        Ok(identity)
    }
}

impl Verifier for JwtVerifier {
    async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        self.verify_at(token, SystemTime::now).await
    }
}

/// The time for which to cache a token that ends.
pub(crate) fn cache_ttl(identity: &Identity, now: SystemTime, most: Duration) -> Duration {
    identity.expires().map_or(most, |expires| expires.duration_since(now).unwrap_or_default().min(most))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;
    use crate::jws::tests::{NOW, Signer};

    #[tokio::test(start_paused = true)]
    async fn a_cached_token_is_rejected_once_it_has_expired() {
        let signer = Signer::p256();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        std::fs::write(&path, json!({"keys": [signer.jwk()]}).to_string()).unwrap();
        let expected = TokenPolicy::new("https://as", "https://rs").leeway(Duration::from_secs(5));
        let verifier = JwtVerifier::new(expected, KeySource::File(path.clone()), HttpClient::default());
        verifier.prepare().await.unwrap();
        std::fs::remove_file(&path).unwrap();
        // The token ends a minute after NOW.
        let (token, start) = (signer.token(&json!({"alg": "ES256"})), Instant::now());
        for (second, expected) in [(0, Ok(())), (59, Ok(())), (64, Ok(())), (65, Err("the token has expired"))] {
            tokio::time::advance(start + Duration::from_secs(second) - Instant::now()).await;
            let clock = || UNIX_EPOCH + Duration::from_secs(NOW + second);
            let outcome = verifier.verify_at(&token, clock).await.map(drop);
            assert_eq!(outcome, expected.map_err(TokenError::Invalid), "{second}");
        }
    }

    #[test]
    fn a_token_is_cached_until_it_ends() {
        let now = SystemTime::now();
        let cache_ttl = |expires| {
            let claims = json!({"sub": "ann"}).as_object().unwrap().clone();
            cache_ttl(&Identity::of(claims, None, expires).unwrap(), now, MAX_CACHE_TTL).as_secs()
        };
        assert_eq!(cache_ttl(Some(now + Duration::from_secs(7))), 7);
        assert_eq!(cache_ttl(Some(now + Duration::from_secs(301))), 300);
        assert_eq!(cache_ttl(Some(now - Duration::from_secs(7))), 0, "valid within the leeway, but not cached");
        assert_eq!(cache_ttl(None), 300);
    }
}
