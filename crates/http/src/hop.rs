//! The header of a request that one process of a server hands on to another one: signed, for this request and the lease
//! of that process, and with the caller whom the first process has authenticated.
//!
//! ```text
//! Protomcp-Hop: v1.base64url(fields).base64url(signature)
//!
//! fields     JSON: the receiver and the number of its lease, the expiry, a nonce, the SHA-256 of the body, the caller
//! signature  HMAC-SHA-256 of method, target, session, version, last event and fields, each after its length
//! ```
//!
//! The signature is checked before the fields are read, and before the body arrives: the digest of the body is a field. A
//! receiver takes a header once ([`nonces`]), and has forgotten that when it is started again: then it has another lease.

pub(crate) mod caller;
pub(crate) mod nonces;

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, StatusCode};
use protomcp_server::{KeyFileError, LeaseName, NodeId, SealingSecret};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::headers::{LAST_EVENT, SESSION, VERSION, single};
use crate::hop::caller::HopCaller;

/// The header.
pub(crate) const HOP: HeaderName = HeaderName::from_static("protomcp-hop");

/// The form of its value.
const FORM: &str = "v1";

/// The longest value, in bytes. The claims of a token take most of it.
pub(crate) const MAX_LENGTH: usize = 16 * 1024;

/// The time for which a header is valid.
const LIFETIME: Duration = Duration::from_secs(10);

/// The longest time until the expiry of a header by the clock of its receiver, which may be this much late, too.
const MAX_AHEAD: Duration = Duration::from_secs(15);

/// The keys that sign the requests which processes hand on: the first signs, all of them verify, so that a key can take
/// the place of another one while processes run.
///
/// Processes that hand requests on to each other share the keys. A process that has them acts for every caller.
#[derive(Clone)]
pub struct HopKeys(Vec<[u8; 32]>);

impl HopKeys {
    /// The key of a secret.
    #[must_use]
    pub fn new(secret: &SealingSecret) -> Self {
        Self(vec![secret.derive("hop")])
    }

    /// The key of the secret in a file ([`SealingSecret::from_file`]). This blocks for the time of a read.
    ///
    /// # Errors
    /// See [`KeyFileError`].
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        Ok(Self::new(&SealingSecret::from_file(path)?))
    }

    /// Verifies with other keys, too. These keys sign.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

/// Keeps keys out of logs.
impl fmt::Debug for HopKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HopKeys({})", self.0.len())
    }
}

/// The fields of the header.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    /// The lease of the process that may take the request.
    pub(crate) to: LeaseName,
    /// In seconds since 1970.
    pub(crate) expires: u64,
    pub(crate) nonce: u128,
    /// The SHA-256 of the body.
    pub(crate) body: [u8; 32],
    pub(crate) caller: HopCaller,
}

/// The reason to refuse a request with the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HopRefusal {
    #[error("this process takes no requests from other ones")]
    NotConfigured,
    #[error("it is too long")]
    TooLong,
    #[error("it cannot be read")]
    Malformed,
    #[error("it is not signed with a key of this server, or for another request")]
    Forged,
    #[error("it has expired, or the clocks of the processes differ")]
    Expired,
    #[error("it expires too late, or the clocks of the processes differ")]
    TooFarAhead,
    #[error("it was used before")]
    Replayed,
    #[error("it belongs to another body")]
    OtherBody,
    #[error("it is for another process")]
    Misdirected,
    #[error("too many requests have come from other processes")]
    Full,
    #[error("this process shuts down, and frees its sessions for other ones")]
    Leaving,
}

/// The headers that are signed.
pub(crate) const SIGNED: [HeaderName; 3] = [SESSION, VERSION, LAST_EVENT];

/// The challenge of each refusal, by which the process that has handed the request on knows it (RFC 9110, section 11.6.1).
pub(crate) const CHALLENGE: HeaderValue = HeaderValue::from_static("Protomcp-Hop");

impl HopRefusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            Self::Leaving => StatusCode::GONE,
            // The request may have been carried out.
            Self::Replayed => StatusCode::CONFLICT,
            Self::NotConfigured
            | Self::TooLong
            | Self::Malformed
            | Self::Forged
            | Self::Expired
            | Self::TooFarAhead
            | Self::OtherBody => StatusCode::UNAUTHORIZED,
        }
    }
}

impl Hop {
    /// For a request whose body has this digest, to the process with this lease.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub(crate) fn new(
        to: LeaseName,
        caller: HopCaller,
        body: [u8; 32],
        now: SystemTime,
    ) -> Result<Self, getrandom::Error> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)?;
        let nonce = u128::from_be_bytes(nonce);
        Ok(Self { to, expires: seconds(now + LIFETIME), nonce, body, caller })
    }

    /// The value of the header, for a request with this head; `None`: it would be too long.
    pub(crate) fn write(&self, keys: &HopKeys, head: &Parts) -> Option<HeaderValue> {
        let fields = URL_SAFE_NO_PAD.encode(self.to_json().to_string());
        let signature: [u8; 32] = sign(&keys.0[0], head, &fields).finalize().into_bytes().into();
        let text = format!("{FORM}.{fields}.{}", URL_SAFE_NO_PAD.encode(signature));
        let mut value = HeaderValue::try_from(text).ok().filter(|value| value.len() <= MAX_LENGTH)?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Reads the header of a request with this head, if it is signed with one of the keys.
    pub(crate) fn read(keys: &HopKeys, head: &Parts) -> Result<Self, HopRefusal> {
        let value = single(&head.headers, &HOP).ok_or(HopRefusal::Malformed)?;
        if value.len() > MAX_LENGTH {
            return Err(HopRefusal::TooLong);
        }
        let mut parts = value.to_str().unwrap_or_default().split('.');
        let (Some(FORM), Some(fields), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(HopRefusal::Malformed);
        };
        let decoded = |text| URL_SAFE_NO_PAD.decode(text).map_err(|_| HopRefusal::Malformed);
        let signature = decoded(signature)?;
        // The comparison takes the same time for every position of the first difference.
        let is_signed = |key| sign(key, head, fields).verify_slice(&signature).is_ok();
        if !keys.0.iter().any(is_signed) {
            return Err(HopRefusal::Forged);
        }
        let fields = serde_json::from_slice(&decoded(fields)?).map_err(|_| HopRefusal::Malformed)?;
        Self::from_json(&fields).ok_or(HopRefusal::Malformed)
    }

    /// Succeeds if the process with this lease may take the request now.
    pub(crate) fn check(&self, own: &LeaseName, now: SystemTime) -> Result<(), HopRefusal> {
        if self.to != *own {
            return Err(HopRefusal::Misdirected);
        }
        if self.expires < seconds(now) {
            return Err(HopRefusal::Expired);
        }
        if self.expires > seconds(now + MAX_AHEAD) {
            return Err(HopRefusal::TooFarAhead);
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        json!({
            "to": self.to.node.as_str(),
            "lease": self.to.number,
            "exp": self.expires,
            "nonce": format!("{:032x}", self.nonce),
            "body": URL_SAFE_NO_PAD.encode(self.body),
            "caller": self.caller.to_json(),
        })
    }

    fn from_json(fields: &Value) -> Option<Self> {
        let text = |name: &str| fields.get(name)?.as_str();
        Some(Self {
            to: LeaseName { node: NodeId::new(text("to")?), number: fields.get("lease")?.as_u64()? },
            expires: fields.get("exp")?.as_u64()?,
            nonce: u128::from_str_radix(text("nonce")?, 16).ok()?,
            body: URL_SAFE_NO_PAD.decode(text("body")?).ok()?.try_into().ok()?,
            caller: HopCaller::from_json(fields.get("caller")?)?,
        })
    }
}

/// The SHA-256 of a body.
pub(crate) fn digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// The seconds since 1970.
pub(crate) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn sign(key: &[u8; 32], head: &Parts, fields: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    let target = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let header = |name| head.headers.get(name).map_or(b"".as_slice(), HeaderValue::as_bytes);
    let mut part = |bytes: &[u8]| {
        mac.update(&(bytes.len() as u64).to_be_bytes());
        mac.update(bytes);
    };
    part(head.method.as_str().as_bytes());
    part(target.as_bytes());
    for name in SIGNED {
        part(header(name));
    }
    part(fields.as_bytes());
    mac
}

#[cfg(test)]
mod tests;
