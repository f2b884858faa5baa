//! Cursors of lists: opaque to clients, and signed, so that only positions that a server has given are taken.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::code;
use crate::fault::Fault;

/// The key that signs cursors. A server with several processes gives all of them the same one.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

/// A position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The digest of the list and of the filter that the position belongs to.
    pub list: ListDigest,
    /// The number of entries before it.
    pub position: u32,
}

/// Identifies the contents of a list, under one filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListDigest(u64);

impl ListDigest {
    /// The digest of these texts, in this order.
    pub fn of<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut digest = Sha256::new();
        for text in texts {
            let text = text.as_ref();
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text);
        }
        let bytes: [u8; 32] = digest.finalize().into();
        Self(u64::from_be_bytes(*bytes.first_chunk().expect("32 bytes begin with 8")))
    }

    /// The digest of this list under a filter with these texts.
    #[must_use]
    pub fn and<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(
            [self.0.to_be_bytes().to_vec()].into_iter().chain(texts.into_iter().map(|text| text.as_bytes().to_vec())),
        )
    }
}

impl CursorKey {
    /// A new key.
    #[must_use]
    pub fn random() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has random numbers");
        Self(key)
    }

    /// A key that other processes have as well.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The text of a position, for clients.
    #[must_use]
    pub fn seal(&self, cursor: Cursor) -> String {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&cursor.list.0.to_be_bytes());
        bytes.extend_from_slice(&cursor.position.to_be_bytes());
        bytes.extend_from_slice(&self.sign(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of a text, in the list with this digest; the beginning for an empty text.
    ///
    /// # Errors
    /// −32602 with the reason `invalid_cursor` for any other text, and `stale_cursor` for a position in a list that has
    /// changed since, or under another filter. The client begins again.
    pub fn open(&self, text: &str, list: ListDigest) -> Result<u32, Fault> {
        if text.is_empty() {
            return Ok(0);
        }
        let fault = |reason: &str, message: &str| Fault::new(code::INVALID_PARAMS, message).with("reason", reason);
        let cursor = self.read(text).ok_or_else(|| fault("invalid_cursor", "the cursor is not one of this server"))?;
        if cursor.list != list {
            return Err(fault("stale_cursor", "the list has changed since the cursor was given; begin again"));
        }
        Ok(cursor.position)
    }

    fn read(&self, text: &str) -> Option<Cursor> {
        if text.len() > 2 * LENGTH {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (signed, signature) = bytes.split_last_chunk::<SIGNATURE>()?;
        let is_genuine = bool::from(self.sign(signed).ct_eq(signature));
        let (format, rest) = signed.split_first()?;
        let (list, position) = rest.split_first_chunk()?;
        let position = position.try_into().ok()?;
        (is_genuine && *format == FORMAT)
            .then(|| Cursor { list: ListDigest(u64::from_be_bytes(*list)), position: u32::from_be_bytes(position) })
    }

    fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key may have any length");
        mac.update(bytes);
        let full: [u8; 32] = mac.finalize().into_bytes().into();
        *full.first_chunk().expect("32 bytes begin with 16")
    }
}

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CursorKey").finish_non_exhaustive()
    }
}

/// The first byte of a cursor, for later formats.
const FORMAT: u8 = 1;

/// Bytes of a signature.
const SIGNATURE: usize = 16;

/// Bytes of a cursor: format, digest, position, signature.
const LENGTH: usize = 1 + 8 + 4 + SIGNATURE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_cursors_are_taken_and_only_for_their_list() {
        let (key, list) = (CursorKey::random(), ListDigest::of(["a", "b"]));
        let text = key.seal(Cursor { list, position: 25 });
        assert_eq!(key.open(&text, list), Ok(25));
        assert_eq!(key.open("", list), Ok(0));
        let reason = |text: &str, list| key.open(text, list).unwrap_err().data["reason"].clone();
        assert_eq!(reason(&text, ListDigest::of(["ab"])), "stale_cursor");
        let other = CursorKey::random().seal(Cursor { list, position: 25 });
        for forged in ["x", "AAAA", &text[1..], &other, &text.repeat(50), &format!("{text}A")] {
            assert_eq!(reason(forged, list), "invalid_cursor", "{forged}");
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_eq!(reason(&URL_SAFE_NO_PAD.encode(&bytes), list), "invalid_cursor");
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn a_digest_knows_where_its_texts_end() {
        assert_ne!(ListDigest::of(["ab", "c"]), ListDigest::of(["a", "bc"]));
        assert_ne!(ListDigest::of(["a"]), ListDigest::of(["a", ""]));
        assert_eq!(ListDigest::of(["a"]), ListDigest::of([String::from("a")]));
    }
}
