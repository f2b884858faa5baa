//! The Keychain of macOS.

use security_framework::base::Error;
use security_framework::passwords::{delete_generic_password, get_generic_password, set_generic_password};

use crate::driver::token_store::StoreError;

/// `errSecItemNotFound` of the Security framework.
const NOT_FOUND: i32 = -25300;

pub(super) async fn get(service: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    run(service, name, |service, name| get_generic_password(service, name)).await
}

pub(super) async fn set(service: &str, name: &str, secret: &[u8]) -> Result<(), StoreError> {
    let secret = secret.to_vec();
    run(service, name, move |service, name| set_generic_password(service, name, &secret)).await.map(drop)
}

pub(super) async fn remove(service: &str, name: &str) -> Result<(), StoreError> {
    run(service, name, |service, name| delete_generic_password(service, name)).await.map(drop)
}

/// Runs an operation where it may wait for the user. `None`: there is no such secret.
async fn run<T: Send + 'static>(
    service: &str,
    name: &str,
    operation: impl FnOnce(&str, &str) -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, StoreError> {
    let (service, name) = (service.to_owned(), name.to_owned());
    let outcome = tokio::task::spawn_blocking(move || operation(&service, &name)).await;
    match outcome.map_err(|error| StoreError(error.to_string()))? {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.code() == NOT_FOUND => Ok(None),
        Err(error) => Err(StoreError(format!("the Keychain: {error}"))),
    }
}
