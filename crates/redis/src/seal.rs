//! Values that a store keeps and cannot read.
//!
//! A value is encrypted with ChaCha20-Poly1305 (RFC 8439). Each session has its own key, derived from the secret of the
//! processes, and so have the notices of each process: a random nonce of 96 bits is used for few enough values. The
//! name of the value is authenticated with it: its session or sender, its key with the prefix of the store, its field
//! and the token of its writer, which for notices is the first one. A value that was moved to another place is not
//! opened. An earlier value that is put back to its place is: a rollback of the store is not detected.
//!
//! ```text
//! version 1, 1 byte · number of the key, 1 byte · token, 8 bytes · nonce, 12 bytes · ciphertext … · tag, 16 bytes
//! ```

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_server::{FencingToken, KeyFileError, SealingSecret};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::keys::{SenderName, SessionName};

/// The version of the form.
const VERSION: u8 = 1;

/// Version, number of the key and token.
const HEAD: usize = 2 + 8;

/// The bytes by which a sealed value is longer.
pub(crate) const OVERHEAD: usize = HEAD + NONCE_LEN + 16;

/// The bytes of a tag of a request.
const TAG: usize = 16;

/// The keys of a store: the first seals values, all of them open values, so that a key can take the place of another
/// one while processes run.
///
/// Processes that share a store share the key. A process without it finds none of the sessions of the others.
#[derive(Clone)]
pub struct SealingKeys(Vec<StoreKey>);

#[derive(Clone)]
struct StoreKey {
    /// Most values are opened with the right key first.
    number: u8,
    key: Prk,
    /// For the tags of requests.
    tags: hmac::Key,
}

impl SealingKeys {
    /// The keys of a secret.
    #[must_use]
    pub fn new(secret: &SealingSecret) -> Self {
        let key = Prk::new_less_safe(HKDF_SHA256, &secret.derive("store"));
        let [number, ..] = secret.derive("store key number");
        let tags = hmac::Key::new(hmac::HMAC_SHA256, &secret.derive("store tags"));
        Self(vec![StoreKey { number, key, tags }])
    }

    /// The keys of the secret in a file ([`SealingSecret::from_file`]). This blocks for the time of a read.
    ///
    /// # Errors
    /// See [`KeyFileError`].
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        Ok(Self::new(&SealingSecret::from_file(path)?))
    }

    /// Opens the values of other keys, too. These keys seal.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Seals a value.
    pub(crate) fn seal<'a>(
        &self,
        values: impl Into<Values<'a>>,
        field: &str,
        token: FencingToken,
        value: &[u8],
    ) -> Vec<u8> {
        let (key, values): (_, Values<'a>) = (&self.0[0], values.into());
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).expect("the system has random numbers");
        let mut sealed = Vec::with_capacity(HEAD + NONCE_LEN + value.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend([VERSION, key.number]);
        sealed.extend(token.get().to_be_bytes());
        let name = name(values, field, &sealed);
        sealed.extend(nonce);
        sealed.extend(value);
        let tag = key
            .of(values)
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), name, &mut sealed[HEAD + NONCE_LEN..])
            .expect("a value is shorter than 256 GiB");
        sealed.extend(tag.as_ref());
        sealed
    }

    /// Opens a value; `None`: it was sealed with another key, for another place, or was changed.
    pub(crate) fn open<'a>(&self, values: impl Into<Values<'a>>, field: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let values: Values<'a> = values.into();
        let (head, rest) = sealed.split_at_checked(HEAD)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LEN>()?;
        if head[0] != VERSION {
            return None;
        }
        self.0.iter().filter(|key| key.number == head[1]).find_map(|key| {
            let mut value = ciphertext.to_vec();
            let (nonce, name) = (Nonce::assume_unique_for_key(*nonce), name(values, field, head));
            let length = key.of(values).open_in_place(nonce, name, &mut value).ok()?.len();
            value.truncate(length);
            Some(value)
        })
    }

    /// Names for a text that do not show it: one for each key, and first the one with the key that seals.
    pub(crate) fn tags(&self, session: &SessionName, text: &str) -> impl Iterator<Item = [u8; TAG]> {
        self.0.iter().map(move |key| {
            let mut context = hmac::Context::with_key(&key.tags);
            context.update(session.as_bytes());
            context.update(text.as_bytes());
            *context.sign().as_ref().first_chunk::<TAG>().expect("an HMAC has 32 bytes")
        })
    }
}

/// Values that have one key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Values<'a> {
    /// The values of a session.
    Session(&'a SessionName),
    /// The notices of a process.
    Notices(&'a SenderName),
}

impl<'a> Values<'a> {
    /// The label and the name. All labels have one length, and all names.
    fn name(self) -> [&'a [u8]; 2] {
        match self {
            Self::Session(session) => [b"session", session.as_bytes()],
            Self::Notices(sender) => [b"notices", sender.as_bytes()],
        }
    }
}

impl<'a> From<&'a SessionName> for Values<'a> {
    fn from(session: &'a SessionName) -> Self {
        Self::Session(session)
    }
}

impl<'a> From<&'a SenderName> for Values<'a> {
    fn from(sender: &'a SenderName) -> Self {
        Self::Notices(sender)
    }
}

impl StoreKey {
    /// The key of values.
    fn of(&self, values: Values<'_>) -> LessSafeKey {
        let info = values.name();
        let key = self.key.expand(&info, &CHACHA20_POLY1305).expect("a key has 32 bytes");
        LessSafeKey::new(UnboundKey::from(key))
    }
}

/// Seals the values of a store, and says once if it has values of other keys.
#[derive(Debug)]
pub(crate) struct Seal {
    keys: SealingKeys,
    has_warned: AtomicBool,
}

impl Seal {
    pub(crate) fn new(keys: SealingKeys) -> Self {
        Self { keys, has_warned: AtomicBool::new(false) }
    }

    pub(crate) fn keys(&self) -> &SealingKeys {
        &self.keys
    }

    /// Opens a value; `None`: it is lost for this process.
    pub(crate) fn open<'a>(&self, values: impl Into<Values<'a>>, field: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let opened = self.keys.open(values, field, sealed);
        if opened.is_none() && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the store has values that were sealed with another key, or were changed: they are lost for this \
                 process; processes that share a store share its keys"
            );
        }
        opened
    }
}

/// The name of a value, with the head that it begins with.
fn name(values: Values<'_>, field: &str, head: &[u8]) -> Aad<Vec<u8>> {
    // The first two have a fixed length. The label has chosen the key.
    let [_, name] = values.name();
    Aad::from([head, name, field.as_bytes()].concat())
}

/// Keeps keys out of logs.
impl fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use protomcp_server::NodeId;

    use super::*;

    fn keys(secret: &str) -> SealingKeys {
        SealingKeys::new(&SealingSecret::new(secret.as_bytes()))
    }

    fn sender(node: &str) -> SenderName {
        SenderName::of(&NodeId::new(node))
    }

    #[test]
    fn a_value_is_opened_in_its_place_alone() {
        let (keys, session, token) = (keys("a"), SessionName::of("s"), FencingToken::new(7));
        for value in [b"".as_slice(), b"text", &[0xff; 5_000]] {
            let sealed = keys.seal(&session, "field", token, value);
            assert_eq!((sealed.len(), OVERHEAD), (value.len() + OVERHEAD, 38));
            assert_eq!(keys.open(&session, "field", &sealed).as_deref(), Some(value));
            assert_eq!(keys.open(&session, "other", &sealed), None);
            assert_eq!(keys.open(&SessionName::of("t"), "field", &sealed), None);
            assert_ne!(keys.seal(&session, "field", token, value), sealed, "another nonce");
        }
    }

    #[test]
    fn notices_and_sessions_have_different_keys() {
        let (keys, token) = (keys("a"), FencingToken::FIRST);
        let (session, sender, other) = (SessionName::of("s"), sender("s"), sender("t"));
        assert_eq!(session.as_bytes(), sender.as_bytes());
        let sealed = keys.seal(&sender, "bus", token, b"text");
        assert_eq!(keys.open(&sender, "bus", &sealed).as_deref(), Some(b"text".as_slice()));
        assert_eq!((keys.open(&session, "bus", &sealed), keys.open(&other, "bus", &sealed)), (None, None));
    }

    #[test]
    fn a_value_that_was_changed_is_not_opened() {
        let (keys, session) = (keys("a"), SessionName::of("s"));
        let sealed = keys.seal(&session, "field", FencingToken::new(7), b"text");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(keys.open(&session, "field", &changed), None, "byte {at}");
            assert_eq!(keys.open(&session, "field", &sealed[..at]), None, "{at} bytes");
        }
    }

    #[test]
    fn a_key_takes_the_place_of_another_one() {
        let (session, token) = (SessionName::of("s"), FencingToken::FIRST);
        let (old, new) = (keys("old"), keys("new"));
        let both = new.clone().and(old.clone());
        let before = old.seal(&session, "f", token, b"a");
        assert_eq!(both.open(&session, "f", &before).as_deref(), Some(b"a".as_slice()));
        let after = both.seal(&session, "f", token, b"b");
        assert_eq!(new.open(&session, "f", &after).as_deref(), Some(b"b".as_slice()));
        assert_eq!(old.open(&session, "f", &after), None);
        assert_eq!(format!("{both:?}"), "SealingKeys(2)");
    }

    #[test]
    fn a_tag_shows_nothing_of_a_text() {
        let (a, s, t) = (keys("a"), SessionName::of("s"), SessionName::of("t"));
        let tags = |keys: &SealingKeys, session, text| keys.tags(session, text).collect::<Vec<_>>();
        assert_eq!(tags(&a, &s, "1"), tags(&keys("a"), &s, "1"));
        for other in [tags(&a, &s, "2"), tags(&a, &t, "1"), tags(&keys("b"), &s, "1")] {
            assert_ne!(tags(&a, &s, "1"), other);
        }
        let both = tags(&keys("b").and(a.clone()), &s, "1");
        assert_eq!(both, [tags(&keys("b"), &s, "1"), tags(&a, &s, "1")].concat(), "the one that seals is first");
    }
}
