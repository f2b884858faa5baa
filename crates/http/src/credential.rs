//! Secrets that requests must carry.

use std::fmt;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use subtle::ConstantTimeEq;

use crate::headers::single;

/// The header of [`Credential::api_key`].
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// A secret that requests carry: each needs one of each kind that is configured. It is compared in constant time, and
/// never shown.
#[derive(Clone)]
pub struct Credential {
    kind: Kind,
    secret: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Token,
    ApiKey,
}

impl Credential {
    /// `Authorization: Bearer <secret>`
    #[must_use]
    pub fn token(secret: &str) -> Self {
        Self { kind: Kind::Token, secret: secret.as_bytes().into() }
    }

    /// `X-API-Key: <secret>`
    #[must_use]
    pub fn api_key(secret: &str) -> Self {
        Self { kind: Kind::ApiKey, secret: secret.as_bytes().into() }
    }

    /// True if a request carries the secret.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let given = match self.kind {
            Kind::Token => single(headers, &AUTHORIZATION).and_then(bearer),
            Kind::ApiKey => single(headers, &API_KEY).map(HeaderValue::as_bytes),
        };
        given.is_some_and(|given| given.ct_eq(&self.secret).into())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The response to a request that lacks a credential.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unauthorized {
    pub(crate) why: &'static str,
    /// The value of `WWW-Authenticate`.
    pub(crate) challenge: &'static str,
}

/// Checks the credentials of a request, which needs one of each kind: its header cannot carry two tokens.
pub(crate) fn check(credentials: &[Credential], headers: &HeaderMap) -> Result<(), Unauthorized> {
    // Both kinds are checked, so that the time does not tell which one was wrong.
    let missing = [Kind::Token, Kind::ApiKey].map(|kind| is_missing(credentials, kind, headers).then_some(kind));
    match missing.into_iter().flatten().next() {
        None => Ok(()),
        Some(Kind::Token) => Err(Unauthorized {
            why: "unauthorized: invalid or missing Bearer token",
            // RFC 6750, section 3.1: an error code is only for requests that carry a credential.
            challenge: if headers.contains_key(AUTHORIZATION) {
                "Bearer realm=\"mcp\", error=\"invalid_token\""
            } else {
                "Bearer realm=\"mcp\""
            },
        }),
        Some(Kind::ApiKey) => Err(Unauthorized {
            why: "unauthorized: invalid or missing API key",
            challenge: "ApiKey realm=\"mcp\", header=\"X-API-Key\"",
        }),
    }
}

/// True if credentials of this kind are needed and a request carries none of them.
fn is_missing(credentials: &[Credential], kind: Kind, headers: &HeaderMap) -> bool {
    // Each is compared, so that the time does not tell which one is like the given one.
    let given = credentials.iter().filter(|credential| credential.kind == kind).map(|one| one.is_in(headers));
    given.fold(None, |any, is_in| Some(any.unwrap_or(false) | is_in)) == Some(false)
}

/// The token of `Bearer <token>`; the scheme is not case-sensitive (RFC 9110, section 11.1).
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_credential_of_every_kind_must_be_there() {
        let both = [Credential::token("t0ken"), Credential::api_key("k3y")];
        let check = |pairs| check(&both, &headers(pairs)).map_err(|refusal| refusal.why);
        let (token, key) =
            ("unauthorized: invalid or missing Bearer token", "unauthorized: invalid or missing API key");
        assert_eq!(check(&[]), Err(token));
        assert_eq!(check(&[("authorization", "Bearer t0ken")]), Err(key));
        assert_eq!(check(&[("x-api-key", "k3y")]), Err(token));
        assert_eq!(check(&[("authorization", "Bearer t0ken"), ("x-api-key", "k3")]), Err(key));
        assert_eq!(check(&[("authorization", "Bearer t0ken2"), ("x-api-key", "k3y")]), Err(token));
        assert_eq!(check(&[("authorization", "Basic t0ken"), ("x-api-key", "k3y")]), Err(token));
        assert_eq!(check(&[("authorization", "bearer t0ken"), ("x-api-key", "k3y")]), Ok(()));
    }

    #[test]
    fn one_credential_of_a_kind_is_enough() {
        let (old, new, key) = (Credential::token("old"), Credential::token("new"), Credential::api_key("k3y"));
        let (tokens, all) = ([old.clone(), new.clone()], [old, key, new]);
        for (token, is_known) in [("Bearer old", true), ("Bearer new", true), ("Bearer k3y", false), ("Bearer ", false)]
        {
            assert_eq!(check(&tokens, &headers(&[("authorization", token)])).is_ok(), is_known, "{token}");
            assert!(check(&all, &headers(&[("authorization", token)])).is_err(), "{token} without the key");
            let with_key = headers(&[("authorization", token), ("x-api-key", "k3y")]);
            assert_eq!(check(&all, &with_key).is_ok(), is_known, "{token} with the key");
        }
    }

    #[test]
    fn without_credentials_everybody_may_come() {
        assert_eq!(check(&[], &headers(&[])), Ok(()));
    }

    #[test]
    fn a_credential_that_is_shown_twice_does_not_count() {
        for (credential, name, good) in [
            (Credential::token("t0ken"), "authorization", "Bearer t0ken"),
            (Credential::api_key("k3y"), "x-api-key", "k3y"),
        ] {
            let credentials = [credential];
            for others in [&[][..], &[good][..], &["other"][..]] {
                let mut headers = HeaderMap::new();
                for value in [good].iter().chain(others) {
                    headers.append(name, HeaderValue::from_static(value));
                }
                assert_eq!(check(&credentials, &headers).is_ok(), others.is_empty(), "{name} {others:?}");
            }
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", Credential::token("hunter2")).contains("hunter2"));
    }
}
