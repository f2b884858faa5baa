//! Proofs of possession (RFC 9449).

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::credentials::seconds;
use crate::signing::{Es256Key, random_text, sha256_text};

/// The longest nonce that is accepted, in bytes.
pub(crate) const MAX_NONCE: usize = 1024;

/// The request that a proof is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proof<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) nonce: Option<&'a str>,
    /// None at the token endpoint.
    pub(crate) access_token: Option<&'a str>,
}

impl Proof<'_> {
    /// The value of the `dpop` header. Each has its own id, so a proof must not be sent twice.
    pub(crate) fn sign(&self, key: &Es256Key, now: SystemTime) -> String {
        let header = json!({"typ": "dpop+jwt", "jwk": key.public_jwk()});
        // Section 4.2: without query and fragment.
        let target = self.url.split(['?', '#']).next().unwrap_or_default();
        let mut claims = json!({"jti": random_text(), "htm": self.method, "htu": target, "iat": seconds(now)});
        if let Some(nonce) = self.nonce {
            claims["nonce"] = Value::from(nonce);
        }
        if let Some(token) = self.access_token {
            claims["ath"] = Value::from(sha256_text(token));
        }
        key.sign(header, &claims)
    }
}

/// The nonce of a header, if it is one (section 8.1).
pub(crate) fn accepted_nonce(nonce: &str) -> Option<&str> {
    let is_nonce = !nonce.is_empty() && nonce.len() <= MAX_NONCE && nonce.bytes().all(|byte| byte.is_ascii_graphic());
    is_nonce.then_some(nonce)
}
