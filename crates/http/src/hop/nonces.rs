//! The headers that were used, so that each is used once.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::hop::HopRefusal;

/// The most nonces that are remembered, each until its header has expired. They take 11 MiB at most.
pub(crate) const MAX_NONCES: usize = 256 * 1024;

/// Nonces by the expiry of their headers, in seconds since 1970. There are few expiries, because none is far ahead.
#[derive(Debug, Default)]
pub(crate) struct Nonces(Mutex<BTreeMap<u64, HashSet<u128>>>);

impl Nonces {
    /// Remembers a nonce until its expiry. Without room it is refused: none is forgotten early.
    pub(crate) fn enter(&self, nonce: u128, expires: u64, now: u64) -> Result<(), HopRefusal> {
        let mut seen = self.seen();
        while seen.first_key_value().is_some_and(|(expiry, _)| *expiry < now) {
            seen.pop_first();
        }
        if seen.values().map(HashSet::len).sum::<usize>() >= MAX_NONCES {
            return Err(HopRefusal::Full);
        }
        if seen.entry(expires).or_default().insert(nonce) { Ok(()) } else { Err(HopRefusal::Replayed) }
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<u64, HashSet<u128>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_used_once_until_it_expires() {
        let nonces = Nonces::default();
        assert_eq!(nonces.enter(1, 110, 100), Ok(()));
        assert_eq!(nonces.enter(2, 110, 100), Ok(()));
        assert_eq!(nonces.enter(1, 110, 110), Err(HopRefusal::Replayed));
        assert_eq!(nonces.enter(3, 125, 111), Ok(()));
        assert_eq!(nonces.seen().len(), 1, "the others have expired");
    }

    #[test]
    fn the_number_of_nonces_is_bounded() {
        let (nonces, most) = (Nonces::default(), MAX_NONCES as u128);
        assert!((0..most).all(|nonce| nonces.enter(nonce, 110 + (nonce % 2) as u64, 100).is_ok()));
        assert_eq!(nonces.enter(most, 111, 110), Err(HopRefusal::Full));
        assert_eq!(nonces.enter(most, 111, 111), Ok(()), "half of them have expired");
    }
}
