//! Tokens that were found good a moment ago.
//!
//! Checking a signature costs more than the call it protects, and asking an issuer far more. Tokens are kept by their
//! digest, so that nobody who reads the memory finds one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::identity::Identity;

/// Tokens that are kept in each of the two halves.
const HALF: usize = 5_000;

type Kept = HashMap<[u8; 32], (Identity, Instant)>;

/// At most 10,000 tokens. When the newer half is full it becomes the older one, which is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    newer: Kept,
    older: Kept,
}

/// Under which a token is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

impl Cache {
    /// Looks a token up.
    pub(crate) fn find(&self, token: Fingerprint, now: Instant) -> Option<Identity> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((identity, until)) = halves.newer.get(&token.0) {
            return (*until > now).then(|| identity.clone());
        }
        let (identity, until) = halves.older.remove(&token.0).filter(|(_, until)| *until > now)?;
        halves.put(token, identity.clone(), until);
        Some(identity)
    }

    /// Keeps a token for as long as it may be believed without another look.
    pub(crate) fn keep(&self, token: Fingerprint, identity: Identity, now: Instant, time: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(token, identity, now + time);
    }
}

impl Halves {
    fn put(&mut self, token: Fingerprint, identity: Identity, until: Instant) {
        if self.newer.len() >= HALF {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(token.0, (identity, until));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity(name: &str) -> Identity {
        Identity::of(json!({"sub": name}).as_object().unwrap().clone(), None, None).unwrap()
    }

    #[test]
    fn a_token_is_believed_for_its_time() {
        let (cache, now) = (Cache::default(), Instant::now());
        let token = Fingerprint::of("t");
        cache.keep(token, identity("ann"), now, Duration::from_secs(10));
        let at = |seconds| cache.find(token, now + Duration::from_secs(seconds));
        assert_eq!(at(9).unwrap().subject(), Some("ann"));
        assert!(at(10).is_none() && cache.find(Fingerprint::of("u"), now).is_none());
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let (cache, now) = (Cache::default(), Instant::now());
        let used = Fingerprint::of("used");
        cache.keep(used, identity("ann"), now, Duration::from_secs(10));
        for number in 0..3 * HALF {
            cache.keep(Fingerprint::of(&number.to_string()), identity("bob"), now, Duration::from_secs(10));
            if number % 1000 == 0 {
                assert!(cache.find(used, now).is_some(), "{number}");
            }
        }
        let halves = cache.0.lock().unwrap();
        assert!(halves.newer.len() <= HALF && halves.older.len() <= HALF);
    }
}
