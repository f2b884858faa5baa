//! The results of recent token checks.
//!
//! Checking a signature costs more than the call it protects, and asking an issuer far more. The cache holds digests of
//! tokens instead of tokens, so that a reader of the memory finds none.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// The number of tokens in each of the two halves.
const HALF: usize = 5_000;

/// The bytes of claims in each of the two halves, as written by the issuer.
const HALF_BYTES: usize = 8 * 1024 * 1024;

/// At most 10,000 tokens and 16 MiB of their claims. When the newer half is full it becomes the older one, whose
/// entries are dropped.
#[derive(Debug)]
pub(crate) struct Cache<V>(Mutex<Halves<V>>);

#[derive(Debug)]
struct Halves<V> {
    newer: HashMap<Fingerprint, Kept<V>>,
    older: HashMap<Fingerprint, Kept<V>>,
    /// Bytes in the newer half.
    bytes: usize,
}

#[derive(Debug)]
struct Kept<V> {
    found: V,
    bytes: usize,
    until: Instant,
}

/// The key of a token in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The text of the digest, for other servers.
    pub(crate) fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// The digest with this text; `None`: it is none.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Self(Mutex::new(Halves { newer: HashMap::new(), older: HashMap::new(), bytes: 0 }))
    }
}

impl<V: Clone> Cache<V> {
    /// Looks a token up.
    pub(crate) fn find(&self, token: Fingerprint, now: Instant) -> Option<V> {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = halves.newer.get(&token) {
            return (kept.until > now).then(|| kept.found.clone());
        }
        let kept = halves.older.remove(&token).filter(|kept| kept.until > now)?;
        let found = kept.found.clone();
        halves.put(token, kept);
        Some(found)
    }

    /// Drops the result of a check. Returns true if there was one.
    pub(crate) fn forget(&self, token: Fingerprint) -> bool {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = halves.newer.remove(&token);
        halves.bytes -= newer.as_ref().map_or(0, |kept| kept.bytes);
        let older = halves.older.remove(&token);
        newer.or(older).is_some()
    }

    /// Stores the result of a check until `until`; `bytes` is the size of its claims.
    pub(crate) fn keep(&self, token: Fingerprint, found: V, bytes: usize, until: Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(token, Kept { found, bytes, until });
    }
}

impl<V> Halves<V> {
    fn put(&mut self, token: Fingerprint, kept: Kept<V>) {
        if self.newer.len() >= HALF || self.bytes + kept.bytes > HALF_BYTES {
            self.older = std::mem::take(&mut self.newer);
            self.bytes = 0;
        }
        self.bytes += kept.bytes;
        self.newer.insert(token, kept);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_result_is_cached_until_its_time() {
        let (cache, now) = (Cache::default(), Instant::now());
        let token = Fingerprint::of("t");
        cache.keep(token, "ann", 1, now + Duration::from_secs(10));
        let at = |seconds| cache.find(token, now + Duration::from_secs(seconds));
        assert_eq!((at(9), at(10)), (Some("ann"), None));
        assert_eq!(cache.find(Fingerprint::of("u"), now), None);
    }

    #[test]
    fn a_result_is_forgotten_in_both_halves() {
        let (cache, now) = (Cache::default(), Instant::now());
        let (token, until) = (Fingerprint::of("t"), now + Duration::from_secs(10));
        for others in [0, HALF] {
            cache.keep(token, 0, 1, until);
            for number in 0..others {
                cache.keep(Fingerprint::of(&number.to_string()), number, 0, until);
            }
            assert_eq!(["u", "t", "t"].map(|token| cache.forget(Fingerprint::of(token))), [false, true, false]);
            assert_eq!((cache.find(token, now), cache.0.lock().unwrap().bytes), (None, 0));
        }
    }

    #[test]
    fn a_digest_is_read_as_it_was_written() {
        let token = Fingerprint::of("t");
        assert_eq!(Fingerprint::from_text(&token.to_text()), Some(token));
        for text in ["", "AAAA", "not base64!", &format!("{}A", token.to_text())] {
            assert_eq!(Fingerprint::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_used_entries() {
        let now = Instant::now();
        let until = now + Duration::from_secs(10);
        // The most tokens, or the most bytes of them.
        for (bytes, half) in [(0, HALF), (1024 * 1024, 8)] {
            let (cache, used) = (Cache::default(), Fingerprint::of("used"));
            cache.keep(used, 0, bytes, until);
            for number in 1..4 * half {
                cache.keep(Fingerprint::of(&number.to_string()), number, bytes, until);
                if number % (half / 4) == 0 {
                    assert_eq!(cache.find(used, now), Some(0), "{number}");
                }
                let halves = cache.0.lock().unwrap();
                assert!(halves.newer.len() <= half && halves.older.len() <= half, "{number}");
            }
            let halves = cache.0.lock().unwrap();
            assert!(halves.newer.len() + halves.older.len() > half);
            assert!(halves.bytes <= HALF_BYTES);
        }
    }

    #[test]
    fn use_does_not_extend_the_time_of_an_entry() {
        let (cache, now) = (Cache::default(), Instant::now());
        let (used, unused) = (Fingerprint::of("used"), Fingerprint::of("unused"));
        let until = now + Duration::from_secs(10);
        cache.keep(used, 0, 0, until);
        cache.keep(unused, 0, 0, until);
        for number in 0..HALF {
            cache.keep(Fingerprint::of(&number.to_string()), number, 0, until);
        }
        assert_eq!(cache.find(used, now + Duration::from_secs(9)), Some(0), "it moves to the newer half");
        assert_eq!((cache.find(used, until), cache.find(unused, until)), (None, None));
    }
}
