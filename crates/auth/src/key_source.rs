//! Where the keys of an issuer are, and how they get here.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use tokio::time::Instant;

use crate::client::HttpClient;
use crate::freshness::Freshness;
use crate::key_set::KeySet;
use crate::url::Url;

/// Where the keys of an issuer are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum KeySource {
    /// Where the issuer's own description says (RFC 8414, or OpenID Connect Discovery).
    Issuer(Url),
    /// A key set at this URL.
    Url(Url),
    /// A key set in a file, which is read again when a key is not in it.
    File(PathBuf),
}

/// Keys as they were last found, fetched again when one is missing or they are old.
#[derive(Debug)]
pub(crate) struct Keys {
    source: KeySource,
    client: HttpClient,
    known: Mutex<Known>,
    /// Held by whoever fetches; the others wait for what comes.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Option<Arc<KeySet>>,
    freshness: Freshness,
}

#[derive(Deserialize)]
struct Description {
    issuer: String,
    jwks_uri: Option<String>,
}

impl Keys {
    pub(crate) fn new(source: KeySource, client: HttpClient) -> Arc<Self> {
        Arc::new(Self { source, client, known: Mutex::default(), fetching: tokio::sync::Mutex::default() })
    }

    /// The keys, newer ones if these do not have what is looked for. Nobody waits for newer ones who does not need them.
    pub(crate) async fn with(self: &Arc<Self>, has: impl Fn(&KeySet) -> bool) -> Result<Arc<KeySet>, String> {
        if let Some(keys) = self.usable().filter(|keys| has(keys)) {
            if self.wants(false) {
                let keys = Arc::clone(self);
                tokio::spawn(async move { keys.renew(|| keys.wants(false)).await });
            }
            return Ok(keys);
        }
        let lacks = || self.usable().is_none_or(|keys| !has(&keys));
        let outcome = self.renew(|| lacks() && self.wants(true)).await;
        // Keys that do not have it are an answer, too, unless newer ones might.
        outcome
            .and_then(|()| self.usable().ok_or_else(|| "the keys of the issuer were not there a moment ago".to_owned()))
    }

    /// Fetches the keys if that is still due when it is our turn.
    async fn renew(&self, is_due: impl Fn() -> bool) -> Result<(), String> {
        let _turn = self.fetching.lock().await;
        if !is_due() {
            return Ok(());
        }
        self.known().freshness.try_now(Instant::now());
        let fetched =
            self.fetch().await.inspect_err(|why| tracing::warn!("the keys of the issuer are not there: {why}"))?;
        let mut known = self.known();
        known.keys = Some(Arc::new(fetched));
        known.freshness.fetched(Instant::now());
        Ok(())
    }

    fn wants(&self, lacks: bool) -> bool {
        self.known().freshness.wants(lacks, Instant::now())
    }

    /// Keys that were good yesterday are good today.
    fn usable(&self) -> Option<Arc<KeySet>> {
        let known = self.known();
        known.keys.clone().filter(|_| known.freshness.is_usable(Instant::now()))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
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
        let Ok(description) = serde_json::from_slice::<Description>(&found) else {
            failures.push(format!("{place} is no description of an authorization server"));
            continue;
        };
        // RFC 8414, section 3.3: otherwise somebody else describes the issuer.
        if description.issuer != issuer.as_str() {
            return Err(format!("{place} describes the issuer {:?}, not {:?}", description.issuer, issuer.as_str()));
        }
        let keys = description.jwks_uri.ok_or_else(|| format!("{place} names no key set (jwks_uri)"))?;
        return Url::parse(&keys).map_err(|error| format!("{place}: {error}"));
    }
    Err(failures.join("; "))
}

/// Where an issuer may describe itself (MCP 2025-11-25, basic/authorization, authorization server metadata discovery).
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
    fn an_issuer_is_looked_up_in_all_places() {
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
