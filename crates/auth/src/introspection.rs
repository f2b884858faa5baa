//! Tokens that only their issuer can read (RFC 7662).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use protomcp_fair::{LeftOut, LogRate, Slot, SlotQueue};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cache::{Cache, Fingerprint};
use crate::claims::{Kind, TokenPolicy};
use crate::form::encode;
use crate::http_client::{HttpClient, Outgoing};
use crate::identity::Identity;
use crate::json;
use crate::jwt::cache_ttl;
use crate::peer::PeerKey;
use crate::url::Url;
use crate::verifier::{TokenError, Verifier};

/// The longest time that an answer is cached. A revoked token remains valid for this much longer.
const MAX_CACHE_TTL: Duration = Duration::from_secs(60);

/// The time for which a refusal is cached, so that the issuer is not asked about the same token again and again.
const REFUSED: Duration = Duration::from_secs(5);

/// The most requests to the issuer at a time.
const MAX_QUESTIONS: usize = 32;

/// The most requests that wait for a slot.
const MAX_WAITING: usize = 256;

/// The time for which they wait.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The most refusals that are reported in a second: anyone can send tokens that are refused.
const MAX_REPORTS: u32 = 100;

const CROWDED: &str = "too many tokens are being asked about";

/// The credentials of this server at the issuer.
#[derive(Clone)]
pub struct ClientCredentials(HeaderValue);

impl ClientCredentials {
    /// The id and secret under which the issuer knows this server (RFC 6749, section 2.3.1).
    #[must_use]
    pub fn new(id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret)));
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

/// Asks the issuer about each token. Answers are cached for a minute, or until the token ends if that is sooner, and
/// refusals for five seconds. While the issuer does not answer, only tokens with a cached answer are valid.
///
/// Requests to the issuer are shared fairly by the machines that cause them ([`Verifier::verify_for`]): one machine
/// alone gets four fifths of the slots, so that others still find one. A request without a slot waits for two seconds.
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
    slots: SlotQueue<PeerKey>,
    questions: Mutex<HashMap<Fingerprint, Answer>>,
    reports: OnceLock<Reports>,
}

/// Tells others of refusals.
struct Reports {
    report: Box<dyn Fn(&str) + Send + Sync>,
    rate: LogRate,
}

type Outcome = Result<Identity, TokenError>;

/// Receives the outcome of a question.
type Answer = watch::Receiver<Option<Outcome>>;

/// The state of a token.
enum Known {
    Outcome(Outcome),
    /// The issuer is being asked about it.
    Asked(Answer),
}

impl Introspection {
    /// Uses this endpoint.
    #[must_use]
    pub fn new(endpoint: Url, credentials: ClientCredentials, expected: TokenPolicy, client: HttpClient) -> Self {
        Self(Arc::new(Inner {
            endpoint,
            credentials,
            expected,
            client,
            good: Cache::default(),
            refused: Cache::default(),
            slots: SlotQueue::new(MAX_QUESTIONS, MAX_WAITING, MAX_WAIT),
            questions: Mutex::default(),
            reports: OnceLock::new(),
        }))
    }

    /// Reports the digest of each token that the issuer calls inactive, at most 100 in a second. `report` must not block;
    /// only the first one is called.
    ///
    /// Other servers that ask the same issuer pass the digest to [`Introspection::forget`]. Without that, and when a report
    /// is lost, each server accepts a revoked token until its own answer is a minute old.
    pub fn report_refusals(&self, report: impl Fn(&str) + Send + Sync + 'static) {
        let reports = Reports { report: Box::new(report), rate: LogRate::new(MAX_REPORTS) };
        let _is_first = self.0.reports.set(reports);
    }

    /// Forgets that the token with this digest is valid: the issuer is asked again. Other texts have no effect. Returns true
    /// if an answer was forgotten.
    pub fn forget(&self, digest: &str) -> bool {
        Fingerprint::from_text(digest).is_some_and(|token| self.0.good.forget(token))
    }
}

impl Reports {
    fn report(&self, token: Fingerprint) {
        let Some(LeftOut(left_out)) = self.rate.permit(Instant::now().into_std()) else { return };
        if left_out.is_some() {
            tracing::warn!(left_out, "too many tokens are refused: other servers are not told of all");
        }
        (self.report)(&token.to_text());
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").finish_non_exhaustive()
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
                let slot = self.0.slots.acquire(peer).await;
                let slot = slot.ok_or_else(|| TokenError::Unavailable(CROWDED.to_owned()))?;
                self.0.begin(token, fingerprint, slot)
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
            // The outcome is cached before the question ends.
            None => self.remembered(token).map(Known::Outcome),
        }
    }

    /// Asks the issuer, unless another request has done so while this one waited for its slot.
    fn begin(self: &Arc<Self>, token: &str, fingerprint: Fingerprint, slot: Slot<PeerKey>) -> Known {
        let (sender, answer) = watch::channel(None);
        {
            let mut questions = self.questions();
            if let Some(known) = self.known(&questions, fingerprint) {
                return known;
            }
            questions.insert(fingerprint, answer.clone());
        }
        let inner = Arc::clone(self);
        let question = Question { inner, token: fingerprint, outcome: broken_off(), answer: sender, _slot: slot };
        // Without the lock: a runtime that ends drops the task immediately, and the question takes the lock.
        tokio::spawn(question.ask(token.to_owned()));
        Known::Asked(answer)
    }

    async fn ask(&self, token: &str, fingerprint: Fingerprint) -> Outcome {
        let outgoing = Outgoing {
            form: Some(format!("token={}&token_type_hint=access_token", encode(token))),
            authorization: Some(self.credentials.0.clone()),
        };
        let answer = self.client.send(&self.endpoint, outgoing).await;
        let answer = answer.map_err(|error| TokenError::Unavailable(error.to_string()))?;
        let claims = json::parse::<Map<String, Value>>(&answer);
        let unreadable =
            |error| TokenError::Unavailable(format!("{} answers nonsense: {error}", self.endpoint.brief()));
        let claims = claims.map_err(unreadable)?;
        let outcome = if claims.get("active") == Some(&Value::Bool(true)) {
            self.expected.check(Kind::Introspection, claims, SystemTime::now())
        } else {
            if let Some(reports) = self.reports.get() {
                reports.report(fingerprint);
            }
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

/// A question to the issuer, in its own task, so that the end of one request affects no other. It always has an
/// outcome, even if its task is dropped.
struct Question {
    inner: Arc<Inner>,
    token: Fingerprint,
    outcome: Outcome,
    answer: watch::Sender<Option<Outcome>>,
    _slot: Slot<PeerKey>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_coded_and_not_shown() {
        let credentials = ClientCredentials::new("my:id", "p w");
        assert_eq!(credentials.0, format!("Basic {}", STANDARD.encode("my%3Aid:p+w")));
        assert!(!format!("{credentials:?} {:?}", credentials.0).contains("bXk"));
    }
}
