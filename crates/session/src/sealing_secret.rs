//! A secret that several processes share, and the keys that are derived from it.

use std::fmt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::key_file::{self, KeyFileError};

/// Keeps the keys of a secret apart from the keys that other programs derive from it.
const SALT: &[u8] = b"protomcp sealing key";

/// A secret from which each purpose gets another key (HKDF-SHA-256, RFC 5869), so that one file serves all of them.
#[derive(Clone)]
pub struct SealingSecret {
    extracted: [u8; 32],
}

impl SealingSecret {
    /// The secret with these bytes. They come from a source of random numbers.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self { extracted: mac(SALT, &[secret]) }
    }

    /// The secret in a file: its bytes as they are, 32 at least and 65,536 at most. This blocks for the time of a read.
    ///
    /// # Errors
    /// See [`KeyFileError`].
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        Ok(Self::new(&key_file::read(path)?))
    }

    /// The key for a purpose: one block of output (RFC 5869, section 2.3).
    #[must_use]
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        mac(&self.extracted, &[purpose.as_bytes(), &[1]])
    }
}

/// Keeps the secret out of logs.
impl fmt::Debug for SealingSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingSecret").finish_non_exhaustive()
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869, appendix A.1: the first block of the output.
    #[test]
    fn keys_are_derived_as_the_standard_says() {
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let extracted = mac(&salt, &[&[0x0b; 22]]);
        let key: String = mac(&extracted, &[&info, &[1]]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(key, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
    }

    #[test]
    fn each_purpose_has_another_key() {
        let (secret, other) = (SealingSecret::new(b"a secret"), SealingSecret::new(b"another"));
        assert_eq!(secret.derive("store"), SealingSecret::new(b"a secret").derive("store"));
        assert_ne!(secret.derive("store"), secret.derive("requestState"));
        assert_ne!(secret.derive("store"), other.derive("store"));
        assert_eq!(format!("{secret:?}"), "SealingSecret { .. }");
    }
}
