//! Tokens that only their issuer can read (RFC 7662).

use std::fmt;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::cache::{Cache, Fingerprint};
use crate::claims::{Expected, Kind};
use crate::client::{HttpClient, Outgoing};
use crate::identity::Identity;
use crate::jwt::believed;
use crate::url::Url;
use crate::verifier::{TokenError, Verifier};

/// How long an answer is believed. A token that is taken back counts for this much longer.
const BELIEVED: Duration = Duration::from_secs(60);

/// Questions to the issuer at a time. More wait.
const MAX_QUESTIONS: usize = 32;

/// As whom to ask.
#[derive(Clone)]
pub struct ClientCredentials(HeaderValue);

impl ClientCredentials {
    /// The id and secret under which the issuer knows this server (RFC 6749, section 2.3.1).
    #[must_use]
    pub fn new(id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{}:{}", form(id), form(secret)));
        let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is visible ASCII");
        value.set_sensitive(true);
        Self(value)
    }
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientCredentials(..)")
    }
}

/// Asks the issuer what a token means. Answers are kept for a minute, or for as long as the token lives if that is less;
/// while the issuer does not answer, nobody gets in whose token is not among those.
#[derive(Debug)]
pub struct Introspection {
    endpoint: Url,
    credentials: ClientCredentials,
    expected: Expected,
    client: HttpClient,
    cache: Cache,
    places: Semaphore,
}

impl Introspection {
    /// Asks at this endpoint.
    #[must_use]
    pub fn new(endpoint: Url, credentials: ClientCredentials, expected: Expected, client: HttpClient) -> Self {
        let (cache, places) = (Cache::default(), Semaphore::new(MAX_QUESTIONS));
        Self { endpoint, credentials, expected, client, cache, places }
    }

    async fn ask(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let outgoing = Outgoing {
            form: Some(format!("token={}&token_type_hint=access_token", form(token))),
            authorization: Some(self.credentials.0.clone()),
        };
        let place = self.places.acquire().await;
        let answer = self.client.send(&self.endpoint, outgoing).await;
        drop(place);
        let answer = answer.map_err(|error| TokenError::Unavailable(error.to_string()))?;
        let claims = serde_json::from_slice::<Map<String, Value>>(&answer);
        claims.map_err(|error| TokenError::Unavailable(format!("{} answers nonsense: {error}", self.endpoint)))
    }
}

impl Verifier for Introspection {
    async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        let (fingerprint, now) = (Fingerprint::of(token), Instant::now());
        if let Some(identity) = self.cache.find(fingerprint, now) {
            return Ok(identity);
        }
        let claims = self.ask(token).await?;
        if claims.get("active") != Some(&Value::Bool(true)) {
            return Err(TokenError::Invalid("the token is not active"));
        }
        let identity = self.expected.check(Kind::Introspection, claims, SystemTime::now())?;
        self.cache.keep(fingerprint, identity.clone(), now, believed(&identity, SystemTime::now(), BELIEVED));
        Ok(identity)
    }
}

/// A value of a form.
fn form(text: &str) -> String {
    let mut coded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => coded.push(char::from(byte)),
            b' ' => coded.push('+'),
            _ => write!(coded, "%{byte:02X}").expect("a text can always grow"),
        }
    }
    coded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_forms_are_coded() {
        assert_eq!(form("aZ0-._* +&=/~ü"), "aZ0-._*+%2B%26%3D%2F%7E%C3%BC");
    }

    #[test]
    fn a_secret_is_coded_and_not_shown() {
        let credentials = ClientCredentials::new("my:id", "p w");
        assert_eq!(credentials.0, format!("Basic {}", STANDARD.encode("my%3Aid:p+w")));
        assert!(!format!("{credentials:?} {:?}", credentials.0).contains("bXk"));
    }
}
