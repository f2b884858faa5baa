//! The report of each feature's outcome.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use rmcp::service::ServiceError;
use serde_json::json;

/// The time limit of a feature: the limit of all tests.
fn patience() -> Duration {
    let seconds = std::env::var("PMCP_PATIENCE").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(120))
}

/// Where the server is and what is spoken.
pub struct Place {
    pub transport: &'static str,
    pub revision: String,
    /// The name of the server.
    pub server: String,
    /// True if its lists have more than one page.
    pub pages: bool,
    /// Features that are not tried.
    pub without: BTreeSet<String>,
}

/// The reason why a feature is not a success.
#[derive(Debug)]
pub enum Fault {
    /// The client has no such feature, or the revision.
    Lacks(&'static str),
    /// Something else was expected.
    Failed(String),
}

impl From<ServiceError> for Fault {
    fn from(error: ServiceError) -> Self {
        Self::Failed(format!("{error:?}"))
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

pub type Attempt = Result<(), Fault>;

/// Fails unless the two are equal.
pub fn is<A: PartialEq<B> + std::fmt::Debug, B: std::fmt::Debug>(seen: A, expected: B) -> Attempt {
    if seen == expected { Ok(()) } else { Err(Fault::Failed(format!("{seen:?} is not {expected:?}"))) }
}

/// Fails unless the one is in the other.
pub fn has(seen: &str, part: &str) -> Attempt {
    if seen.contains(part) { Ok(()) } else { Err(Fault::Failed(format!("{part:?} is not in {seen:?}"))) }
}

impl Place {
    /// Tries a feature and prints how it went.
    pub async fn tries(&self, feature: &str, attempt: impl Future<Output = Attempt>) {
        if self.without.contains(feature) || self.without.contains(&format!("{feature}@{}", self.revision)) {
            return;
        }
        let (ok, detail) = match tokio::time::timeout(patience(), attempt).await {
            Ok(Ok(())) => (Some(true), String::new()),
            Ok(Err(Fault::Lacks(reason))) => (None, reason.to_owned()),
            Ok(Err(Fault::Failed(why))) => (Some(false), why),
            Err(_) => (Some(false), "nothing happens".to_owned()),
        };
        let Self { transport, revision, .. } = self;
        let line =
            json!({"transport": transport, "revision": revision, "feature": feature, "ok": ok, "detail": detail});
        println!("{line}");
    }
}
