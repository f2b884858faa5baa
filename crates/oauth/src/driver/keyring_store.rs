//! Credentials in the keyring of the system where one works, and in files otherwise.
//!
//! ```text
//!  Untried ──the first secret is read──▶ Working ──a failure──▶ Failed: files
//!     └───────────────a failure─────────────────────────────────▲
//! ```

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use crate::authorizer::BoxFuture;
use crate::credentials::Credentials;
use crate::driver::file_store::{FileTokenStore, hash};
use crate::driver::token_store::{StoreError, StoreGuard, TokenStore};

/// The time for one operation of a keyring, in which a user may have to unlock it.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The most credentials in one secret; the oldest are dropped.
const MAX_ISSUERS: usize = 8;

/// The longest secret that is read, in bytes.
const MAX_SECRET: usize = 256 * 1024;

/// A place for secrets that the system protects, such as the keyring of a desktop.
pub trait Keyring: Send + Sync + 'static {
    /// The secret with this name; `None` if there is none.
    ///
    /// # Errors
    /// If there is no keyring, or it cannot be read.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>>;

    /// Keeps a secret, in place of that with the same name. The old one must stay if this fails.
    ///
    /// # Errors
    /// If the keyring cannot be written.
    fn set<'a>(&'a self, name: &'a str, secret: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes a secret, if there is one.
    ///
    /// # Errors
    /// If the keyring cannot be written.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Keeps credentials in a keyring, one secret for each MCP server, as long as the keyring works. Credentials that it
/// does not take are kept in files, and so are all others after a failure. Programs that share the keyring share the
/// directory too: its locks let them refresh a token once.
#[derive(Clone)]
pub struct KeyringTokenStore {
    keyring: Arc<dyn Keyring>,
    files: FileTokenStore,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Untried,
    Working,
    Failed,
}

impl KeyringTokenStore {
    /// A store in this keyring, and otherwise in these files.
    #[must_use]
    pub fn new(keyring: impl Keyring, files: FileTokenStore) -> Self {
        Self { keyring: Arc::new(keyring), files, state: Arc::default() }
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome of an operation; `None` if the keyring has failed, from here on or before.
    async fn attempt<T>(&self, operation: impl Future<Output = Result<T, StoreError>> + Send) -> Option<T> {
        if self.state() == State::Failed {
            return None;
        }
        let late = || StoreError(format!("no answer within {} s", MAX_WAIT.as_secs()));
        let outcome = timeout(MAX_WAIT, operation).await.unwrap_or_else(|_| Err(late()));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match (outcome, *state) {
            (Ok(found), _) => {
                *state = State::Working;
                return Some(found);
            }
            // Most systems without a desktop have none.
            (Err(error), State::Untried) => tracing::debug!(%error, "no keyring; credentials are kept in files"),
            (Err(error), _) => tracing::warn!(%error, "the keyring has failed; credentials are kept in files"),
        }
        *state = State::Failed;
        None
    }

    /// The credentials in the keyring; `None` if it has failed.
    async fn read(&self, resource: &str) -> Option<Vec<Credentials>> {
        let name = hash(resource);
        let secret = self.attempt(self.keyring.get(&name)).await?.unwrap_or_default();
        if secret.is_empty() {
            return Some(Vec::new());
        }
        let known = match serde_json::from_slice::<Vec<Credentials>>(&secret[..secret.len().min(MAX_SECRET)]) {
            Ok(known) => known,
            // The user signs in again, and the secret is replaced.
            Err(error) => {
                tracing::warn!(%error, "the credentials in the keyring cannot be read; ignored");
                Vec::new()
            }
        };
        Some(known.into_iter().filter(|known| known.resource() == resource).collect())
    }

    /// Replaces the credentials in the keyring. `None`: it has failed.
    async fn write(&self, resource: &str, known: &[Credentials]) -> Option<()> {
        let name = hash(resource);
        if known.is_empty() {
            return self.attempt(self.keyring.remove(&name)).await;
        }
        let secret = serde_json::to_vec(known).map_err(|error| StoreError(error.to_string()));
        self.attempt(async { self.keyring.set(&name, &secret?).await }).await
    }
}

impl TokenStore for KeyringTokenStore {
    fn list<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Vec<Credentials>, StoreError>> {
        Box::pin(async move {
            let mut known = self.read(resource).await.unwrap_or_default();
            known.extend(self.files.list(resource).await?);
            newest(&mut known);
            Ok(known)
        })
    }

    fn store<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let resource = credentials.resource();
            if let Some(mut known) = self.read(resource).await {
                known.retain(|known| known.issuer() != credentials.issuer());
                known.insert(0, credentials.clone());
                known.truncate(MAX_ISSUERS);
                if self.write(resource, &known).await.is_some() {
                    // Credentials from a time without the keyring.
                    return self.files.remove(credentials).await;
                }
            }
            self.files.store(credentials).await
        })
    }

    fn remove<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let resource = credentials.resource();
            if let Some(mut known) = self.read(resource).await {
                let before = known.len();
                known.retain(|known| known.issuer() != credentials.issuer());
                if known.len() < before && self.write(resource, &known).await.is_none() {
                    return Err(StoreError("the credentials stay in the keyring, which cannot be written".to_owned()));
                }
            }
            self.files.remove(credentials).await
        })
    }

    fn lock<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<StoreGuard, StoreError>> {
        self.files.lock(resource)
    }
}

/// Sorts credentials, the newest first, and keeps one of each issuer.
fn newest(known: &mut Vec<Credentials>) {
    known.sort_by_key(|credentials| Reverse(credentials.received()));
    let mut issuers = HashSet::new();
    known.retain(|credentials| issuers.insert(credentials.issuer().to_owned()));
}

impl fmt::Debug for KeyringTokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyringTokenStore")
            .field("files", &self.files)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
