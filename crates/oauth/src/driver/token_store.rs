//! The store of credentials.

use std::any::Any;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use crate::authorizer::BoxFuture;
use crate::credentials::Credentials;

/// The most credentials that a [`MemoryTokenStore`] holds; the oldest are dropped.
const MAX_CREDENTIALS: usize = 1024;

/// Keeps credentials, by issuer and MCP server. [`Credentials`] can be written with `serde`.
pub trait TokenStore: Send + Sync + 'static {
    /// The credentials for this MCP server, of all issuers, the newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn list<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Vec<Credentials>, StoreError>>;

    /// Stores credentials, in place of those with the same issuer and resource. The old ones must stay if this fails:
    /// their refresh token may be the only valid one.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn store<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes the credentials with the issuer and resource of these.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps other programs from using the refresh token of this MCP server until the guard is dropped. By default
    /// nothing is kept: right for a store that no other program uses.
    ///
    /// # Errors
    /// If another program holds it for too long.
    fn lock<'a>(&'a self, _resource: &'a str) -> BoxFuture<'a, Result<StoreGuard, StoreError>> {
        Box::pin(ready(Ok(StoreGuard::new(()))))
    }
}

impl<S: TokenStore + ?Sized> TokenStore for Arc<S> {
    fn list<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Vec<Credentials>, StoreError>> {
        S::list(self, resource)
    }

    fn store<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        S::store(self, credentials)
    }

    fn remove<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        S::remove(self, credentials)
    }

    fn lock<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<StoreGuard, StoreError>> {
        S::lock(self, resource)
    }
}

/// Releases the lock of a store when it is dropped.
pub struct StoreGuard(#[expect(dead_code, reason = "is only dropped")] Box<dyn Any + Send>);

impl StoreGuard {
    /// A guard that drops this value.
    pub fn new(held: impl Any + Send) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for StoreGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreGuard")
    }
}

/// The reason for which a store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Keeps credentials as long as the program runs, at most 1,024. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryTokenStore(Arc<Mutex<Vec<Credentials>>>);

impl TokenStore for MemoryTokenStore {
    fn list<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Vec<Credentials>, StoreError>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().rev().filter(|known| known.resource() == resource).cloned().collect();
        Box::pin(ready(Ok(found)))
    }

    fn store<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| !is_same(known, credentials));
        known.push(credentials.clone());
        let surplus = known.len().saturating_sub(MAX_CREDENTIALS);
        known.drain(..surplus);
        Box::pin(ready(Ok(())))
    }

    fn remove<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| !is_same(known, credentials));
        Box::pin(ready(Ok(())))
    }
}

fn is_same(one: &Credentials, other: &Credentials) -> bool {
    (one.issuer(), one.resource()) == (other.issuer(), other.resource())
}
