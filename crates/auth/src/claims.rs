//! The claims that a token must have: its issuer, its audience, its times (RFC 9068, section 4).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::identity::Identity;
use crate::token_kind;
use crate::verifier::TokenError;

/// A larger value would not make up for clocks, but extend the life of every token.
pub const MAX_LEEWAY: Duration = Duration::from_secs(300);

/// The default difference between clocks.
const LEEWAY: Duration = Duration::from_secs(30);

/// The claims that are expected of tokens.
#[derive(Debug, Clone)]
pub struct TokenPolicy {
    issuer: Box<str>,
    /// The resource, and others.
    audiences: Vec<Box<str>>,
    leeway: Duration,
}

/// The origin of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A signed token. It must name its issuer and its end, and must not be an ID token.
    Jwt,
    /// A signed token whose header says that it is an access token (`typ: at+jwt`, RFC 9068, section 2.1).
    AccessTokenJwt,
    /// The answer of the issuer itself, which may omit both (RFC 7662, section 2.2).
    Introspection,
}

impl TokenPolicy {
    /// Accepts tokens of this issuer for this resource.
    #[must_use]
    pub fn new(issuer: &str, resource: &str) -> Self {
        Self { issuer: issuer.into(), audiences: vec![resource.into()], leeway: LEEWAY }
    }

    /// Accepts access tokens for this audience as well, for issuers that do not know resources by their URLs. If the
    /// audience is the id of a client, its ID tokens are rejected. Use `Introspection` for an
    /// issuer whose access tokens look like ID tokens.
    #[must_use]
    pub fn add_audience(mut self, audience: &str) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// The tolerated difference between clocks; at most [`MAX_LEEWAY`]. Default 30 seconds.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.min(MAX_LEEWAY);
        self
    }

    /// The first expected issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Checks claims whose origin has been verified.
    ///
    /// # Errors
    /// [`TokenError::Invalid`] with the reason.
    pub fn check(&self, kind: Kind, claims: Map<String, Value>, now: SystemTime) -> Result<Identity, TokenError> {
        match claims.get("iss") {
            // RFC 9068, section 4: an exact comparison.
            Some(Value::String(issuer)) if **issuer == *self.issuer => {}
            None if kind == Kind::Introspection => {}
            _ => return Err(TokenError::Invalid("the token is from another issuer")),
        }
        let is_for = |known: &[Box<str>]| match claims.get("aud") {
            Some(Value::String(audience)) => is_meant(known, audience),
            Some(Value::Array(audiences)) => {
                audiences.iter().filter_map(Value::as_str).any(|audience| is_meant(known, audience))
            }
            _ => false,
        };
        if !is_for(&self.audiences) {
            // MCP 2025-11-25, basic/authorization, token handling.
            return Err(TokenError::Invalid("the token is for another audience"));
        }
        let is_another_kind = match kind {
            Kind::AccessTokenJwt => false,
            Kind::Introspection => token_kind::is_of_another_kind(&claims),
            // An ID token is for a client, whose id is not the URL of this server.
            Kind::Jwt => {
                let is_for_resource = is_for(&self.audiences[..1]);
                token_kind::is_of_another_kind(&claims) || !is_for_resource && !token_kind::is_access_token(&claims)
            }
        };
        if is_another_kind {
            return Err(TokenError::Invalid("the token is not an access token"));
        }
        // RFC 7800, section 3.1. A thief of the token would present it as a bearer token (RFC 9449, section 7.2).
        if claims.get("cnf").is_some_and(|key| !key.is_null()) {
            return Err(TokenError::Invalid("the token is bound to a key, and bearer tokens prove none"));
        }
        let expires = time(&claims, "exp")?;
        match expires {
            Some(expires) if now >= expires + self.leeway => {
                return Err(TokenError::Invalid("the token has expired"));
            }
            None if kind != Kind::Introspection => return Err(TokenError::Invalid("the token never expires")),
            Some(_) | None => {}
        }
        if time(&claims, "nbf")?.is_some_and(|start| now + self.leeway < start) {
            return Err(TokenError::Invalid("the token is not valid yet"));
        }
        Identity::with_leeway(claims, Some(&self.issuer), expires, self.leeway)
            .ok_or(TokenError::Invalid("the token has no subject"))
    }
}

/// A slash at the end makes no difference, because some clients add one.
fn is_meant(known: &[Box<str>], audience: &str) -> bool {
    let bare = |text: &'_ str| text.strip_suffix('/').map_or(text.len(), str::len);
    known.iter().any(|known| known[..bare(known)] == audience[..bare(audience)])
}

/// A time in seconds, with or without a fraction (RFC 7519, section 2).
pub(crate) fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<SystemTime>, TokenError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let time = value
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        // Beyond this, sums would overflow.
        .filter(|time| time.as_secs() < 1 << 40)
        .and_then(|time| UNIX_EPOCH.checked_add(time));
    time.map(Some).ok_or(TokenError::Invalid("a time in the token cannot be read"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_900_000_000;

    /// Checks valid claims with some of them replaced; `null` removes one.
    #[track_caller]
    fn check(kind: Kind, changes: &Value, expected: Result<(), &'static str>) {
        let mut claims = json!({
            "iss": "https://as", "aud": "https://rs/mcp", "exp": NOW + 60, "sub": "ann", "client_id": "app",
            "scope": "read write"
        });
        let members = claims.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            members.insert(name.clone(), value.clone());
        }
        members.retain(|_, value| !value.is_null());
        let rules = TokenPolicy::new("https://as", "https://rs/mcp").add_audience("api://tools");
        let now = UNIX_EPOCH + Duration::from_secs(NOW);
        let outcome = rules.check(kind, claims.as_object().unwrap().clone(), now);
        let outcome = outcome.map(drop).map_err(|error| match error {
            TokenError::Invalid(why) => why,
            TokenError::Unavailable(why) => panic!("{why}"),
        });
        assert_eq!(outcome, expected, "{kind:?} {changes}");
    }

    #[test]
    fn issuers_are_compared_exactly() {
        let other = Err("the token is from another issuer");
        for iss in [json!("https://as/"), json!("https://AS"), json!("https://evil"), json!(["https://as"]), json!(7)] {
            check(Kind::Jwt, &json!({"iss": iss}), other);
            check(Kind::Introspection, &json!({"iss": iss}), other);
        }
        check(Kind::Jwt, &json!({"iss": null}), other);
        check(Kind::Introspection, &json!({"iss": null}), Ok(()));
    }

    #[test]
    fn a_token_that_is_bound_to_a_key_does_not_count_without_it() {
        let bound = Err("the token is bound to a key, and bearer tokens prove none");
        for kind in [Kind::Jwt, Kind::AccessTokenJwt, Kind::Introspection] {
            check(kind, &json!({"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}}), bound);
            check(kind, &json!({"cnf": {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}}), bound);
            check(kind, &json!({"cnf": {}}), bound);
            check(kind, &json!({"cnf": null}), Ok(()));
        }
    }

    #[test]
    fn a_token_must_be_for_this_server() {
        for aud in [
            json!("https://rs/mcp"),
            json!("https://rs/mcp/"),
            json!("api://tools"),
            json!(["https://other", "https://rs/mcp"]),
        ] {
            check(Kind::Jwt, &json!({"aud": aud}), Ok(()));
        }
        for aud in [
            json!(null),
            json!("https://rs"),
            json!("https://rs/mcp2"),
            json!("https://rs/mcp//"),
            json!("https://rs/mcp?x"),
            json!([]),
            json!(""),
            json!({"https://rs/mcp": 1}),
            json!([["https://rs/mcp"]]),
        ] {
            for kind in [Kind::Jwt, Kind::Introspection] {
                check(kind, &json!({"aud": aud}), Err("the token is for another audience"));
            }
        }
    }

    #[test]
    fn a_token_has_its_time() {
        let (expired, early, odd) = (
            Err("the token has expired"),
            Err("the token is not valid yet"),
            Err("a time in the token cannot be read"),
        );
        for (changes, expected) in [
            (json!({"exp": NOW - 29}), Ok(())),
            (json!({"exp": NOW - 30}), expired),
            (json!({"exp": NOW as f64 - 29.5}), Ok(())),
            (json!({"exp": 0}), expired),
            (json!({"exp": -1}), odd),
            (json!({"exp": 1e300}), odd),
            (json!({"exp": "tomorrow"}), odd),
            (json!({"nbf": NOW + 30}), Ok(())),
            (json!({"nbf": NOW + 31}), early),
            (json!({"nbf": true}), odd),
            (json!({"iat": NOW + 1000}), Ok(())),
        ] {
            check(Kind::Jwt, &changes, expected);
            check(Kind::Introspection, &changes, expected);
        }
        check(Kind::Jwt, &json!({"exp": null}), Err("the token never expires"));
        check(Kind::Introspection, &json!({"exp": null}), Ok(()));
    }

    #[test]
    fn leeway_does_not_extend_the_life_of_a_token() {
        let rules = TokenPolicy::new("https://as", "https://rs").leeway(Duration::from_secs(86_400));
        let claims = json!({"iss": "https://as", "aud": "https://rs", "sub": "ann", "exp": NOW});
        let at = |seconds| {
            rules.check(Kind::Jwt, claims.as_object().unwrap().clone(), UNIX_EPOCH + Duration::from_secs(seconds))
        };
        assert!(at(NOW + 299).is_ok() && at(NOW + 300).is_err());
        let identity = at(NOW).unwrap();
        assert_eq!(identity.expires(), Some(UNIX_EPOCH + Duration::from_secs(NOW)));
        assert_eq!(identity.valid_until(), Some(UNIX_EPOCH + Duration::from_secs(NOW + 300)));
    }

    #[test]
    fn a_token_has_a_subject() {
        check(Kind::Jwt, &json!({"sub": null}), Ok(()));
        check(Kind::Jwt, &json!({"client_id": null}), Ok(()));
        check(Kind::Jwt, &json!({"sub": "", "client_id": null}), Err("the token has no subject"));
        check(Kind::Jwt, &json!({"sub": 7, "client_id": null}), Err("the token has no subject"));
    }

    #[test]
    fn scopes_are_a_text_or_a_list_under_either_name() {
        for (name, value) in [("scope", json!("b a")), ("scp", json!("a b")), ("scp", json!(["b", "a", 7]))] {
            let mut claims = json!({"sub": "ann"}).as_object().unwrap().clone();
            claims.insert(name.to_owned(), value);
            assert_eq!(Identity::of(claims, None, None).unwrap().scopes().to_string(), "a b", "{name}");
        }
    }

    #[test]
    fn no_two_identities_share_a_principal() {
        let of = |issuer, sub: Value, client: Value| {
            let claims = json!({"sub": sub, "client_id": client});
            Identity::of(claims.as_object().unwrap().clone(), Some(issuer), None).unwrap().principal()
        };
        let all = [
            of("i", json!("a"), json!("b")),
            of("i", json!("a"), json!(null)),
            of("i", json!(null), json!("a")),
            of("j", json!("a"), json!("b")),
            of("i", json!("a\",\"b"), json!(null)),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(of("i", json!("a"), json!("b")), all[0]);
    }
}
