//! The keyring of the system: the Keychain of macOS, and elsewhere on unix the keyring of the desktop (the Secret
//! Service of freedesktop.org), by the command `secret-tool` of libsecret.

#[cfg(target_os = "macos")]
#[path = "system_keyring/keychain.rs"]
mod backend;
#[cfg(all(unix, not(target_os = "macos")))]
#[path = "system_keyring/secret_tool.rs"]
mod backend;

use crate::authorizer::BoxFuture;
use crate::driver::keyring_store::Keyring;
use crate::driver::token_store::StoreError;

/// The keyring of the system, if it has one. It is found out at the first use: without one, each operation fails.
#[derive(Debug, Clone)]
pub struct SystemKeyring {
    service: String,
}

impl SystemKeyring {
    /// The secrets of this program, by the name that users see.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into() }
    }
}

impl Keyring for SystemKeyring {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(backend::get(&self.service, name))
    }

    fn set<'a>(&'a self, name: &'a str, secret: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(backend::set(&self.service, name, secret))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(backend::remove(&self.service, name))
    }
}

/// Other systems have none that this program can use.
#[cfg(not(unix))]
mod backend {
    use crate::driver::token_store::StoreError;

    pub(super) async fn get(_service: &str, _name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Err(absent())
    }

    pub(super) async fn set(_service: &str, _name: &str, _secret: &[u8]) -> Result<(), StoreError> {
        Err(absent())
    }

    pub(super) async fn remove(_service: &str, _name: &str) -> Result<(), StoreError> {
        Err(absent())
    }

    fn absent() -> StoreError {
        StoreError("the keyring of this system is not supported".to_owned())
    }
}
