//! The scopes that earlier requests have needed.

use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;
use protomcp_auth::Scopes;

/// The scopes that requests have needed besides those that every request needs. Reading the results of these requests
/// later needs the same scopes: an owner may have tokens that grant fewer.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeededScopes(Arc<Mutex<Scopes>>);

impl NeededScopes {
    pub(crate) fn add(&self, more: &Scopes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(more);
    }

    pub(crate) fn get(&self) -> Scopes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The scopes of the request with this head.
    pub(crate) fn of(parts: &Parts) -> Scopes {
        parts.extensions.get::<Self>().map_or_else(Scopes::default, Self::get)
    }
}
