//! `requestState`: a text that the client keeps between two requests and cannot change (MCP 2026-07-28,
//! basic/patterns/mrtr).
//!
//! A client may forge a state. A state is therefore signed (HMAC-SHA-256) together with the request that it belongs to:
//! its method, its parameters and its sender. It is valid until it expires, and for no other request. Clients can read
//! a state; they cannot write one.
//!
//! ```text
//! base64url( 1 · kind · expiry, seconds since 1970, 8 bytes · contents … · signature, 32 bytes )
//! ```

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use protomcp_types::JsonObject;
use sha2::{Digest, Sha256};

use crate::canonical::digest;

/// The keys that sign states. The first signs, all of them verify, so that keys can be exchanged one after the other.
#[derive(Clone)]
pub struct RequestStateKeys(Vec<[u8; 32]>);

/// The contents of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// The call of this process that waits for the answers.
    Parked(u128),
    /// The text of a handler.
    Own(String),
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

    /// Signs a state for the request that it is bound to.
    pub fn seal(&self, state: &RequestState, bound: &RequestDigest, now: SystemTime, lifetime: Duration) -> String {
        let (kind, contents) = match state {
            RequestState::Parked(id) => (PARKED, id.to_be_bytes().to_vec()),
            RequestState::Own(text) => (OWN, text.as_bytes().to_vec()),
        };
        let mut text = Vec::with_capacity(HEAD + contents.len() + SIGNATURE);
        text.extend([VERSION, kind]);
        text.extend(seconds(now + lifetime).to_be_bytes());
        text.extend(contents);
        let signature = sign(&self.0[0], &text, bound).finalize().into_bytes();
        text.extend(signature);
        URL_SAFE_NO_PAD.encode(text)
    }

    /// `None`: it is not ours, not for this request, too old, or was changed.
    pub fn open(&self, token: &str, bound: &RequestDigest, now: SystemTime) -> Option<RequestState> {
        let text = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (text, signature) = text.split_at_checked(text.len().checked_sub(SIGNATURE)?)?;
        // The comparison takes the same time for every position of the first difference.
        let is_ours = |key| sign(key, text, bound).verify_slice(signature).is_ok();
        if !self.0.iter().any(is_ours) {
            return None;
        }
        let (head, contents) = text.split_first_chunk::<HEAD>()?;
        let expiry = u64::from_be_bytes(head[2..].try_into().ok()?);
        if head[0] != VERSION || expiry < seconds(now) {
            return None;
        }
        match head[1] {
            PARKED => contents.try_into().ok().map(|id| RequestState::Parked(u128::from_be_bytes(id))),
            OWN => String::from_utf8(contents.to_vec()).ok().map(RequestState::Own),
            _ => None,
        }
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

fn sign(key: &[u8; 32], text: &[u8], bound: &RequestDigest) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(b"protomcp requestState");
    mac.update(&bound.0);
    mac.update(text);
    mac
}

fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

const VERSION: u8 = 1;
const PARKED: u8 = b'p';
const OWN: u8 = b'o';
const HEAD: usize = 10;
const SIGNATURE: usize = 32;

#[cfg(test)]
mod tests {
    use protomcp_types::RawJson;

    use super::*;

    const LIFETIME: Duration = Duration::from_secs(60);

    fn params(text: &str) -> JsonObject {
        JsonObject::from_raw(&RawJson::parse(text.to_owned()).unwrap()).unwrap()
    }

    fn bound(text: &str) -> RequestDigest {
        RequestDigest::of("tools/call", &params(text), None)
    }

    #[test]
    fn a_state_comes_back_as_it_was() {
        let (keys, now) = (RequestStateKeys::random(), SystemTime::now());
        for state in [
            RequestState::Parked(0),
            RequestState::Parked(u128::MAX),
            RequestState::Own(String::new()),
            RequestState::Own("ä\n".into()),
        ] {
            let token = keys.seal(&state, &bound("{}"), now, LIFETIME);
            assert_eq!(keys.open(&token, &bound("{}"), now + LIFETIME), Some(state));
            assert_eq!(keys.open(&token, &bound("{}"), now + LIFETIME + Duration::from_secs(2)), None);
            assert_eq!(RequestStateKeys::random().open(&token, &bound("{}"), now), None);
        }
    }

    #[test]
    fn whatever_is_changed_is_noticed() {
        let (keys, now) = (RequestStateKeys::random(), SystemTime::now());
        let token = keys.seal(&RequestState::Own("state".into()), &bound("{}"), now, LIFETIME);
        for index in 0..token.len() {
            for other in ["A", "b", "_"] {
                let mut changed = token.clone();
                changed.replace_range(index..=index, other);
                if changed != token {
                    assert_eq!(keys.open(&changed, &bound("{}"), now), None, "{index}");
                }
            }
            assert_eq!(keys.open(&token[..index], &bound("{}"), now), None, "{index}");
        }
        for tail in ["-TAMPERED", "A", "=", "\n", " "] {
            assert_eq!(keys.open(&format!("{token}{tail}"), &bound("{}"), now), None, "{tail:?}");
        }
    }

    #[test]
    fn a_state_belongs_to_its_request_and_sender() {
        let of = |method, text, principal| RequestDigest::of(method, &params(text), principal);
        let request = of("tools/call", r#"{"name":"a","arguments":{"x":1,"y":[2]}}"#, Some("me"));
        for same in [
            r#"{"arguments":{"y": [2], "x": 1},"name":"\u0061"}"#,
            r#"{"name":"a","arguments":{"x":1,"y":[2]},"_meta":{"a":1},"requestState":"s","inputResponses":{}}"#,
        ] {
            assert_eq!(of("tools/call", same, Some("me")), request, "{same}");
        }
        let text = r#"{"name":"a","arguments":{"x":1,"y":[2]}}"#;
        for other in [
            of("prompts/get", text, Some("me")),
            of("tools/call", text, Some("you")),
            of("tools/call", text, None),
            of("tools/call", r#"{"name":"a"}"#, Some("me")),
            of("tools/call", r#"{"name":"b","arguments":{"x":1,"y":[2]}}"#, Some("me")),
            of("tools/call", r#"{"name":"a","arguments":{"x":"1","y":[2]}}"#, Some("me")),
        ] {
            assert_ne!(other, request);
        }
        assert_ne!(of("m", "{}", None), of("m", "{}", Some("")));
        let amounts = ["1e400", "1e999", "null", "18446744073709551616", "18446744073709551617", r#"1,"x":2"#, "2"];
        let amounts = amounts.map(|x| bound(&format!(r#"{{"arguments":{{"x":{x}}}}}"#)));
        for (index, one) in amounts.iter().enumerate() {
            assert!(!amounts[..index].contains(one), "{index}");
        }
    }

    #[test]
    fn keys_can_be_exchanged() {
        let (old, new, now) = ([1; 32], [2; 32], SystemTime::now());
        let token = RequestStateKeys::shared([old]).seal(&RequestState::Parked(7), &bound("{}"), now, LIFETIME);
        assert_eq!(RequestStateKeys::shared([new, old]).open(&token, &bound("{}"), now), Some(RequestState::Parked(7)));
        assert_eq!(RequestStateKeys::shared([new]).open(&token, &bound("{}"), now), None);
        assert_eq!(format!("{:?}", RequestStateKeys::shared([new, old])), "StateKeys(2)");
    }
}
