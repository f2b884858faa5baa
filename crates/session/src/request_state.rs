//! `requestState`: a text that the client keeps between two requests and cannot change (MCP 2026-07-28,
//! basic/patterns/mrtr).
//!
//! A client may forge a state. A state is therefore signed (HMAC-SHA-256) together with the request that it belongs to:
//! its method, its parameters and its sender. It is valid until it expires, and for no other request. Clients can read
//! a state; they cannot write one.
//!
//! ```text
//! base64url( 3 · kind · expiry, seconds since 1970, 8 bytes · contents … · proof, 16 bytes · signature, 32 bytes )
//! contents of a parked call: number, 16 bytes · tag of its process, 16 bytes
//! ```
//!
//! The proof, a part of an HMAC over all before it, shows that the state is ours. A request with a forged one is refused
//! without a digest, which takes the longer the larger the request is.
//!
//! A state names the process that has parked its call by a tag, a part of an HMAC over the name and the number. A
//! process with the key recognises the tags of the names that it knows. A state tells a client neither the name nor if
//! two calls wait in one process. The refusal of a request that reaches another process (`WRONG_PROCESS`) does name the
//! process, for a router: names of processes should have no meaning.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use protomcp_types::JsonObject;
use sha2::{Digest, Sha256};

use crate::canonical::digest;
use crate::key_file::KeyFileError;
use crate::sealing_secret::SealingSecret;

/// The keys that sign states. The first signs, all of them verify, so that keys can be exchanged one after the other.
#[derive(Clone)]
pub struct RequestStateKeys(Vec<[u8; 32]>);

/// The contents of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// A call that waits for the answers.
    Parked(ParkedState),
    /// The text of a handler.
    Own(String),
}

/// The reason why a state cannot be opened. The text follows the name of the parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestStateError {
    /// It is not ours, was changed, or belongs to another request or another sender.
    #[error("is not valid for this request")]
    Invalid,
    /// It was signed for this request of this sender, and has expired.
    #[error("is used up or too old, or its call gave way to others; call again")]
    TooOld,
}

/// The name of a parked call, among all processes that have the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParkedState {
    number: u128,
    /// Stands for the process; see [`RequestStateKeys::is_parked_in`].
    tag: [u8; TAG],
}

/// The digest of the request that a state belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDigest([u8; 32]);

/// A request to which states can be bound. Most never are, so it is digested only then.
#[derive(Debug)]
pub struct RequestBinding {
    method: &'static str,
    params: JsonObject,
    principal: Option<Arc<str>>,
    bound: OnceLock<RequestDigest>,
}

impl RequestStateKeys {
    /// A key of this process alone: states die with it.
    ///
    /// # Panics
    /// When the system has no random numbers.
    #[must_use]
    pub fn random() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has random numbers");
        Self(vec![key])
    }

    /// Keys that several processes share, so that each accepts the states that another has signed. The first one signs.
    ///
    /// # Panics
    /// Without a key.
    #[must_use]
    pub fn shared(keys: impl IntoIterator<Item = [u8; 32]>) -> Self {
        let keys: Vec<_> = keys.into_iter().collect();
        assert!(!keys.is_empty(), "a state is signed with a key");
        Self(keys)
    }

    /// A key of the secret in a file, which other processes may have as well: its bytes as they are, 32 at least and
    /// 65,536 at most. The key is derived from them (HKDF-SHA-256, RFC 5869), so that the file can serve other purposes,
    /// too. This blocks for the time of a read.
    ///
    /// # Errors
    /// See [`KeyFileError`].
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        Ok(Self(vec![SealingSecret::from_file(path)?.derive("requestState")]))
    }

    /// Accepts the states of other keys, too. These keys sign, so that one key can take the place of another without a
    /// refused state: processes get the new key after the old one first, and then before it.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The contents of a state for the call that is parked under this number, in the process with this name.
    pub fn parked(&self, number: u128, node: &str) -> ParkedState {
        ParkedState { number, tag: tag(&self.0[0], number, node) }
    }

    /// True if a call is parked in the process with this name, which had one of these keys.
    pub fn is_parked_in(&self, call: &ParkedState, node: &str) -> bool {
        self.0.iter().any(|key| tag(key, call.number, node) == call.tag)
    }

    /// Signs a state for the request that it is bound to.
    pub fn seal(&self, state: &RequestState, bound: &RequestDigest, now: SystemTime, lifetime: Duration) -> String {
        let (kind, contents) = match state {
            RequestState::Parked(call) => (PARKED, call.to_bytes()),
            RequestState::Own(text) => (OWN, text.as_bytes().to_vec()),
        };
        let mut text = Vec::with_capacity(HEAD + contents.len() + PROOF + SIGNATURE);
        text.extend([VERSION, kind]);
        text.extend(seconds(now + lifetime).to_be_bytes());
        text.extend(contents);
        URL_SAFE_NO_PAD.encode(signed(&self.0[0], text, bound))
    }

    /// Opens a state for the request that it is bound to, whose digest is made only for a state of one of the keys.
    ///
    /// # Errors
    /// See [`RequestStateError`]. Its sender alone learns that a state is too old, and can read that in it anyway.
    pub fn open(
        &self,
        token: &str,
        bound: impl FnOnce() -> RequestDigest,
        now: SystemTime,
    ) -> Result<RequestState, RequestStateError> {
        let (expiry, state) = self.verified(token, bound).ok_or(RequestStateError::Invalid)?;
        if expiry < seconds(now) { Err(RequestStateError::TooOld) } else { Ok(state) }
    }

    /// The expiry and the contents of a state that one of the keys has signed for a request.
    fn verified(&self, token: &str, bound: impl FnOnce() -> RequestDigest) -> Option<(u64, RequestState)> {
        let text = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (text, signature) = text.split_at_checked(text.len().checked_sub(SIGNATURE)?)?;
        let (text, proof) = text.split_at_checked(text.len().checked_sub(PROOF)?)?;
        // The comparisons take the same time for every position of the first difference.
        let key = self.0.iter().find(|key| prove(key, text).verify_truncated_left(proof).is_ok())?;
        sign(key, text, &bound()).verify_slice(signature).ok()?;
        let (head, contents) = text.split_first_chunk::<HEAD>()?;
        let expiry = u64::from_be_bytes(head[2..].try_into().ok()?);
        let state = match (head[0], head[1]) {
            (VERSION, PARKED) => RequestState::Parked(ParkedState::of(contents)?),
            (VERSION, OWN) => RequestState::Own(String::from_utf8(contents.to_vec()).ok()?),
            _ => return None,
        };
        Some((expiry, state))
    }
}

impl ParkedState {
    /// The number of the call in its process.
    #[must_use]
    pub fn number(&self) -> u128 {
        self.number
    }

    fn to_bytes(self) -> Vec<u8> {
        [self.number.to_be_bytes(), self.tag].concat()
    }

    fn of(contents: &[u8]) -> Option<Self> {
        let (number, tag) = contents.split_first_chunk()?;
        Some(Self { number: u128::from_be_bytes(*number), tag: tag.try_into().ok()? })
    }
}

/// Keeps keys out of logs.
impl fmt::Debug for RequestStateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateKeys({})", self.0.len())
    }
}

impl RequestBinding {
    /// Of a request with this method and these parameters, from this principal.
    pub fn new(method: &'static str, params: JsonObject, principal: Option<Arc<str>>) -> Self {
        Self { method, params, principal, bound: OnceLock::new() }
    }

    /// The digest of the request.
    pub fn bound(&self) -> &RequestDigest {
        self.bound.get_or_init(|| RequestDigest::of(self.method, &self.params, self.principal.as_deref()))
    }
}

impl RequestDigest {
    /// A request, without what differs between a request and its repetition: `_meta`, answers and state. The same
    /// parameters written in another order or with other blanks are the same; see `canonical`.
    fn of(method: &str, params: &JsonObject, principal: Option<&str>) -> Self {
        let mut same: Vec<_> = params
            .iter()
            .filter(|(name, _)| !["_meta", "inputResponses", "requestState"].contains(name))
            .map(|(name, value)| (name, digest(value)))
            .collect();
        same.sort_unstable();
        let mut all = Sha256::new();
        let mut part = |bytes: &[u8]| {
            all.update((bytes.len() as u64).to_be_bytes());
            all.update(bytes);
        };
        part(method.as_bytes());
        part(if principal.is_some() { b"principal" } else { b"" });
        part(principal.unwrap_or_default().as_bytes());
        for (name, value) in &same {
            part(name.as_bytes());
            part(value);
        }
        Self(all.finalize().into())
    }
}

/// A text with its proof and its signature.
fn signed(key: &[u8; 32], mut text: Vec<u8>, bound: &RequestDigest) -> Vec<u8> {
    let (proof, signature) = (prove(key, &text), sign(key, &text, bound));
    text.extend(&proof.finalize().into_bytes()[..PROOF]);
    text.extend(signature.finalize().into_bytes());
    text
}

fn prove(key: &[u8; 32], text: &[u8]) -> Hmac<Sha256> {
    let mut mac = keyed(key);
    mac.update(b"protomcp proof of a requestState");
    mac.update(text);
    mac
}

fn sign(key: &[u8; 32], text: &[u8], bound: &RequestDigest) -> Hmac<Sha256> {
    let mut mac = keyed(key);
    mac.update(b"protomcp requestState");
    mac.update(&bound.0);
    mac.update(text);
    mac
}

/// The tag of a process, for the call with this number.
fn tag(key: &[u8; 32], number: u128, node: &str) -> [u8; TAG] {
    let mut mac = keyed(key);
    mac.update(b"protomcp parked in");
    mac.update(&number.to_be_bytes());
    mac.update(node.as_bytes());
    let whole: [u8; 32] = mac.finalize().into_bytes().into();
    *whole.first_chunk().expect("32 bytes begin with 16")
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length")
}

fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

const VERSION: u8 = 3;
const PARKED: u8 = b'p';
const OWN: u8 = b'o';
const HEAD: usize = 10;
const PROOF: usize = 16;
const SIGNATURE: usize = 32;
const TAG: usize = 16;

#[cfg(test)]
mod tests;
