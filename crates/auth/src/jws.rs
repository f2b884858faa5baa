//! A signed token in its three parts (RFC 7515, compact form; RFC 7519).
//!
//! The header of a token is read before the token is trusted. It only selects among the allowed algorithms and keys:
//! keys that it carries or points to (`jwk`, `jku`, `x5u`) are ignored.

#[cfg(feature = "client")]
use std::time::Duration;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::algorithm::Algorithm;
#[cfg(feature = "client")]
use crate::claims::time;
use crate::claims::{Kind, TokenPolicy};
use crate::identity::Identity;
use crate::key_set::{KeySet, Verdict};
use crate::verifier::TokenError;

impl KeySet {
    /// Checks a token by these keys alone, without I/O.
    ///
    /// # Errors
    /// [`TokenError::Invalid`] with the reason.
    pub fn check(
        &self,
        token: &str,
        allowed: &[Algorithm],
        expected: &TokenPolicy,
        now: SystemTime,
    ) -> Result<Identity, TokenError> {
        let token = Unverified::parse(token, allowed)?;
        token.check(token.verdict(self), expected, now)
    }
}

/// A token with a well-formed header. No part of it is trusted yet.
#[derive(Debug)]
pub(crate) struct Unverified<'a> {
    algorithm: Algorithm,
    kind: Kind,
    key: Option<Box<str>>,
    /// The signed text: header and claims as they were written.
    message: &'a str,
    claims: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl<'a> Unverified<'a> {
    /// Reads a token that is signed with one of these algorithms.
    pub(crate) fn parse(token: &'a str, allowed: &[Algorithm]) -> Result<Self, TokenError> {
        let malformed = TokenError::Invalid("the token is not a JSON Web Token");
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed);
        };
        let message = &token[..header.len() + 1 + claims.len()];
        let header = URL_SAFE_NO_PAD.decode(header).ok();
        let Some(header) = header.and_then(|header| serde_json::from_slice::<Header>(&header).ok()) else {
            return Err(malformed);
        };
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return Err(malformed) };
        // RFC 7515, section 4.1.11: an extension that must be understood, and is unknown here.
        if header.crit.is_some() {
            return Err(TokenError::Invalid("the token has an extension that is not known"));
        }
        // RFC 9068, section 2.1, requires at+jwt; many issuers are older. Tokens of another kind have another type.
        let typ = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        let kind = match typ.strip_prefix("application/").unwrap_or(&typ) {
            "at+jwt" => Kind::AccessTokenJwt,
            "jwt" => Kind::Jwt,
            _ => return Err(TokenError::Invalid("the token is of another type")),
        };
        let algorithm = Algorithm::parse(&header.alg).filter(|algorithm| allowed.contains(algorithm));
        let algorithm = algorithm.ok_or(TokenError::Invalid("the token is signed in a way that is not allowed"))?;
        Ok(Self { algorithm, kind, key: header.kid.map(Box::from), message, claims, signature })
    }

    /// The verdict of these keys about the signature.
    pub(crate) fn verdict(&self, keys: &KeySet) -> Verdict {
        keys.verify(self.algorithm, self.key.as_deref(), self.message.as_bytes(), &self.signature)
    }

    /// The age of the token by its own claim.
    #[cfg(feature = "client")]
    pub(crate) fn age(&self, now: SystemTime) -> Option<Duration> {
        let issued = time(&self.claims()?, "iat").ok()??;
        now.duration_since(issued).ok()
    }

    /// Checks the claims after the signature.
    pub(crate) fn check(
        &self,
        verdict: Verdict,
        expected: &TokenPolicy,
        now: SystemTime,
    ) -> Result<Identity, TokenError> {
        let why = match verdict {
            Verdict::Good => {
                let claims = self.claims().ok_or(TokenError::Invalid("the token is not a JSON Web Token"))?;
                return expected.check(self.kind, claims, now);
            }
            Verdict::Unknown => "the token is signed with a key that is not known",
            Verdict::Wrong | Verdict::NoneOfThese => "the signature of the token is wrong",
            Verdict::TooMany => {
                let why = "the token does not name its key (kid), and the issuer has more keys that fit than are tried";
                return Err(TokenError::Unavailable(why.to_owned()));
            }
        };
        Err(TokenError::Invalid(why))
    }

    fn claims(&self) -> Option<Map<String, Value>> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(self.claims).ok()?).ok()
    }
}

#[cfg(test)]
pub(crate) mod tests;
