//! Tokens that only their issuer can read (RFC 7662).

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cache::{Cache, Fingerprint};
use crate::claims::{Kind, TokenPolicy};
use crate::client::{HttpClient, Outgoing};
use crate::identity::Identity;
use crate::jwt::cache_ttl;
use crate::peer::PeerKey;
use crate::places::{Gate, Place};
use crate::url::Url;
use crate::verifier::{TokenError, Verifier};

/// The longest time that an answer is cached. A revoked token remains valid for this much longer.
const MAX_CACHE_TTL: Duration = Duration::from_secs(60);

/// How long a refusal is remembered, so that the same token is not asked about all the time.
const REFUSED: Duration = Duration::from_secs(5);

/// Questions to the issuer at a time.
const MAX_QUESTIONS: usize = 32;

/// Requests that wait until they may ask.
const MAX_WAITING: usize = 256;

/// How long they wait.
const MAX_WAIT: Duration = Duration::from_secs(2);

const CROWDED: &str = "too many tokens are being asked about";

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

/// Asks the issuer what a token means. Answers are kept for a minute, or for as long as the token lives if that is less,
/// and refusals for five seconds. While the issuer does not answer, only tokens count whose answers are kept.
///
/// Places at the issuer are shared by the machines that requests come from ([`Verifier::verify_for`]): one alone gets
/// four fifths of them, and then others still find one. A request that finds none waits for two seconds.
#[derive(Debug)]
pub struct Introspection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    endpoint: Url,
    credentials: ClientCredentials,
    expected: TokenPolicy,
    client: HttpClient,
    good: Cache<Identity>,
    refused: Cache<&'static str>,
    gate: Gate,
    questions: Mutex<HashMap<Fingerprint, Answer>>,
}

type Outcome = Result<Identity, TokenError>;

/// What a question comes to, once it has.
type Answer = watch::Receiver<Option<Outcome>>;

/// What is known of a token.
enum Known {
    Outcome(Outcome),
    /// A question about it is under way.
    Asked(Answer),
}

impl Introspection {
    /// Asks at this endpoint.
    #[must_use]
    pub fn new(endpoint: Url, credentials: ClientCredentials, expected: TokenPolicy, client: HttpClient) -> Self {
        Self(Arc::new(Inner {
            endpoint,
            credentials,
            expected,
            client,
            good: Cache::default(),
            refused: Cache::default(),
            gate: Gate::new(MAX_QUESTIONS, MAX_WAITING, MAX_WAIT),
            questions: Mutex::default(),
        }))
    }
}

impl Verifier for Introspection {
    async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        self.verify_for(token, PeerKey::default()).await
    }

    async fn verify_for(&self, token: &str, peer: PeerKey) -> Result<Identity, TokenError> {
        let fingerprint = Fingerprint::of(token);
        if let Some(outcome) = self.0.remembered(fingerprint) {
            return outcome;
        }
        let known = self.0.known(&self.0.questions(), fingerprint);
        let known = match known {
            Some(known) => known,
            None => {
                let place = self.0.gate.enter(peer).await;
                let place = place.ok_or_else(|| TokenError::Unavailable(CROWDED.to_owned()))?;
                self.0.begin(token, fingerprint, place)
            }
        };
        match known {
            Known::Outcome(outcome) => outcome,
            Known::Asked(mut answer) => {
                let outcome = answer.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
                outcome.unwrap_or_else(broken_off)
            }
        }
    }
}

impl Inner {
    fn remembered(&self, token: Fingerprint) -> Option<Outcome> {
        let now = Instant::now();
        let refused = || self.refused.find(token, now).map(|why| Err(TokenError::Invalid(why)));
        self.good.find(token, now).map(Ok).or_else(refused)
    }

    fn known(&self, questions: &HashMap<Fingerprint, Answer>, token: Fingerprint) -> Option<Known> {
        match questions.get(&token) {
            Some(answer) => Some(Known::Asked(answer.clone())),
            // What a question came to is remembered before the question is over.
            None => self.remembered(token).map(Known::Outcome),
        }
    }

    /// Asks, unless another request has done so while this one waited for its place.
    fn begin(self: &Arc<Self>, token: &str, fingerprint: Fingerprint, place: Place) -> Known {
        let mut questions = self.questions();
        if let Some(known) = self.known(&questions, fingerprint) {
            return known;
        }
        let (sender, answer) = watch::channel(None);
        let inner = Arc::clone(self);
        let question = Question { inner, token: fingerprint, outcome: broken_off(), answer: sender, _place: place };
        questions.insert(fingerprint, answer.clone());
        tokio::spawn(question.ask(token.to_owned()));
        Known::Asked(answer)
    }

    async fn ask(&self, token: &str, fingerprint: Fingerprint) -> Outcome {
        let outgoing = Outgoing {
            form: Some(format!("token={}&token_type_hint=access_token", form(token))),
            authorization: Some(self.credentials.0.clone()),
        };
        let answer = self.client.send(&self.endpoint, outgoing).await;
        let answer = answer.map_err(|error| TokenError::Unavailable(error.to_string()))?;
        let claims = serde_json::from_slice::<Map<String, Value>>(&answer);
        let claims =
            claims.map_err(|error| TokenError::Unavailable(format!("{} answers nonsense: {error}", self.endpoint)))?;
        let outcome = if claims.get("active") == Some(&Value::Bool(true)) {
            self.expected.check(Kind::Introspection, claims, SystemTime::now())
        } else {
            Err(TokenError::Invalid("the token is not active"))
        };
        match &outcome {
            Ok(identity) => {
                let until = Instant::now() + cache_ttl(identity, SystemTime::now(), MAX_CACHE_TTL);
                self.good.keep(fingerprint, identity.clone(), answer.len(), until);
            }
            Err(TokenError::Invalid(why)) => self.refused.keep(fingerprint, why, 0, Instant::now() + REFUSED),
            Err(_) => {}
        }
        outcome
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<Fingerprint, Answer>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question to the issuer, in a task of its own: a request that ends early takes it from no other. It ends, whatever
/// becomes of its task.
struct Question {
    inner: Arc<Inner>,
    token: Fingerprint,
    outcome: Outcome,
    answer: watch::Sender<Option<Outcome>>,
    _place: Place,
}

impl Question {
    async fn ask(mut self, token: String) {
        self.outcome = self.inner.ask(&token, self.token).await;
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.inner.questions().remove(&self.token);
        let outcome = std::mem::replace(&mut self.outcome, broken_off());
        self.answer.send_replace(Some(outcome));
    }
}

fn broken_off() -> Outcome {
    Err(TokenError::Unavailable("the question about the token was broken off".to_owned()))
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
