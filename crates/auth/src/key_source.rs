//! Finds and fetches the keys of an issuer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::freshness::{Freshness, Step, Wanted};
use crate::http_client::HttpClient;
use crate::json;
use crate::key_set::{KeySet, Verdict};
use crate::url::Url;

/// The time for which a request waits for keys. The attempt to fetch them continues without it.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The time for one attempt: up to three documents that may describe the issuer, and the keys, each with the time of a
/// request. A file has the same time.
const MAX_ATTEMPT: Duration = Duration::from_secs(60);

/// The location of an issuer's keys.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum KeySource {
    /// The location in the issuer's own description (RFC 8414, or OpenID Connect Discovery).
    Issuer(Url),
    /// A key set at this URL.
    Url(Url),
    /// A key set in a file, which is read again when it lacks a key.
    File(PathBuf),
}

/// The keys as they were last fetched. They are fetched again when a key is missing or when they are old.
///
/// Each attempt to fetch them runs in its own task, so that the end of a request does not end the attempt.
#[derive(Debug)]
pub(crate) struct Keys {
    source: KeySource,
    client: HttpClient,
    known: Mutex<Known>,
    /// [`Known::attempts`], for requests that wait for the end of an attempt.
    attempts: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Option<Arc<KeySet>>,
    freshness: Freshness,
    /// The number of attempts that have ended.
    attempts: u64,
    /// The failure of the last attempt.
    failure: Option<String>,
}

#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: Option<String>,
}

impl Keys {
    pub(crate) fn new(source: KeySource, client: HttpClient) -> Arc<Self> {
        Arc::new(Self { source, client, known: Mutex::default(), attempts: watch::Sender::new(0) })
    }

    /// The verdict of the keys. If they cannot decide and may be too old, newer keys are fetched; only a request that
    /// needs those waits for them, at most [`MAX_WAIT`]. `age`: the age of the token, if it is known.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        look: impl Fn(&KeySet) -> Verdict,
        age: impl Fn() -> Option<Duration>,
    ) -> Result<Verdict, String> {
        let verdict = tokio::time::timeout(MAX_WAIT, self.find(look, age)).await;
        verdict.unwrap_or_else(|_| Err("the issuer's keys are still being fetched".to_owned()))
    }

    /// Fetches the keys unless they are present, however long that takes.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<(), String> {
        self.find(|_| Verdict::Good, || None).await.map(drop)
    }

    async fn find(
        self: &Arc<Self>,
        look: impl Fn(&KeySet) -> Verdict,
        age: impl Fn() -> Option<Duration>,
    ) -> Result<Verdict, String> {
        let (since, mut attempts) = (Instant::now(), self.attempts.subscribe());
        loop {
            let (seen, keys) = self.usable();
            // Without the lock, because this may check a signature.
            let verdict = keys.as_deref().map(&look);
            let has = verdict.is_some_and(Verdict::is_final);
            let wanted = Wanted { since, age: if has { None } else { age() } };
            match (self.step(seen, has, wanted), verdict) {
                (Some(Step::Use | Step::UseAndFetch), Some(verdict)) => return Ok(verdict),
                (Some(Step::Fetch | Step::Wait), _) => {
                    // The sender is part of `self`, so this does not fail.
                    attempts.wait_for(|ended| *ended != seen).await.map(drop).map_err(|error| error.to_string())?;
                }
                (Some(Step::Unavailable | Step::Use | Step::UseAndFetch), _) => return Err(self.why()),
                // An attempt has ended in between.
                (None, _) => {}
            }
        }
    }

    /// The step of a request that has seen the keys after `seen` attempts; `None` if another attempt has ended since.
    fn step(self: &Arc<Self>, seen: u64, has: bool, wanted: Wanted) -> Option<Step> {
        let step = {
            let mut known = self.known();
            (known.attempts == seen).then(|| known.freshness.step(has, wanted, Instant::now()))
        }?;
        if matches!(step, Step::Fetch | Step::UseAndFetch) {
            tokio::spawn(Attempt::new(self).run());
        }
        Some(step)
    }

    /// The number of attempts that have ended, and the keys if they may still be used.
    fn usable(&self) -> (u64, Option<Arc<KeySet>>) {
        let known = self.known();
        let keys = known.keys.clone().filter(|_| known.freshness.is_usable(Instant::now()));
        (known.attempts, keys)
    }

    fn why(&self) -> String {
        let recent =
            || "the key of the token is not known, and the issuer was asked for its keys a moment ago".to_owned();
        self.known().failure.clone().unwrap_or_else(recent)
    }

    fn ended(&self, outcome: Result<KeySet, String>) {
        let ended = {
            let (mut known, now) = (self.known(), Instant::now());
            match outcome {
                Ok(keys) => {
                    (known.keys, known.failure) = (Some(Arc::new(keys)), None);
                    known.freshness.succeeded(now);
                }
                Err(why) => {
                    tracing::warn!("cannot fetch the issuer's keys: {why}");
                    known.failure = Some(format!("cannot fetch the issuer's keys: {why}"));
                    known.freshness.failed(now);
                }
            }
            known.attempts += 1;
            known.attempts
        };
        self.attempts.send_replace(ended);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let (bytes, place) = match &self.source {
            KeySource::Issuer(issuer) => {
                let url = discover(&self.client, issuer).await?;
                (self.get(&url).await?, url.to_string())
            }
            KeySource::Url(url) => (self.get(url).await?, url.to_string()),
            KeySource::File(path) => {
                let (path, place) = (path.clone(), path.display().to_string());
                let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
                let read = read.map_err(|error| error.to_string())?;
                (read.map_err(|error| format!("{place} cannot be read: {error}"))?.into(), place)
            }
        };
        KeySet::parse(&bytes).map_err(|error| format!("{place}: {error}"))
    }

    async fn get(&self, url: &Url) -> Result<Bytes, String> {
        self.client.get(url).await.map_err(|error| error.to_string())
    }
}

/// An attempt to fetch keys. It always has an outcome, even if its task is dropped.
struct Attempt {
    keys: Arc<Keys>,
    outcome: Result<KeySet, String>,
}

impl Attempt {
    fn new(keys: &Arc<Keys>) -> Self {
        Self { keys: Arc::clone(keys), outcome: Err("the attempt was broken off".to_owned()) }
    }

    async fn run(mut self) {
        let fetched = tokio::time::timeout(MAX_ATTEMPT, self.keys.fetch()).await;
        self.outcome = fetched.unwrap_or_else(|_| Err(format!("they did not arrive within {MAX_ATTEMPT:?}")));
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Err(String::new()));
        self.keys.ended(outcome);
    }
}

/// Finds the key set of an issuer.
async fn discover(client: &HttpClient, issuer: &Url) -> Result<Url, String> {
    let mut failures = Vec::new();
    for place in descriptions(issuer) {
        let found = match client.get(&place).await {
            Ok(found) => found,
            Err(error) => {
                failures.push(error.to_string());
                continue;
            }
        };
        let Ok(description) = json::parse::<Description>(&found) else {
            failures.push(format!("{place} does not describe an authorization server"));
            continue;
        };
        // RFC 8414, section 3.3: otherwise the document describes another issuer.
        if description.issuer != issuer.as_str() {
            return Err(format!("{place} describes the issuer {:?}, not {:?}", description.issuer, issuer.as_str()));
        }
        let keys = description.jwks_uri.ok_or_else(|| format!("{place} names no key set (jwks_uri)"))?;
        return Url::parse(&keys).map_err(|error| format!("{place}: {error}"));
    }
    Err(failures.join("; "))
}

/// The locations of an issuer's description (MCP 2025-11-25, basic/authorization, authorization server metadata
/// discovery).
fn descriptions(issuer: &Url) -> Vec<Url> {
    let (origin, path) = (issuer.origin(), issuer.path());
    let inserted =
        ["oauth-authorization-server", "openid-configuration"].map(|name| format!("{origin}/.well-known/{name}{path}"));
    let appended = (!path.is_empty()).then(|| format!("{origin}{path}/.well-known/openid-configuration"));
    inserted.into_iter().chain(appended).filter_map(|text| Url::parse(&text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_looked_up_at_all_locations() {
        let of = |issuer| {
            let places = descriptions(&Url::parse(issuer).unwrap());
            places.iter().map(|url| url.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("https://as.example.com"), of("https://as.example.com/"));
        assert_eq!(
            of("https://as.example.com"),
            [
                "https://as.example.com/.well-known/oauth-authorization-server",
                "https://as.example.com/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            of("https://as.example.com/tenant1"),
            [
                "https://as.example.com/.well-known/oauth-authorization-server/tenant1",
                "https://as.example.com/.well-known/openid-configuration/tenant1",
                "https://as.example.com/tenant1/.well-known/openid-configuration",
            ]
        );
    }
}
