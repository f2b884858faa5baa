//! The scopes that earlier requests have needed.

use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;
use protomcp_auth::Scopes;

/// The scopes that requests have needed besides those that every request needs. Reading later what came of the requests
/// needs them as well: an owner may have tokens that allow less.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeededScopes(Arc<Mutex<Scopes>>);

impl NeededScopes {
    pub(crate) fn add(&self, more: &Scopes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(more);
    }

    pub(crate) fn get(&self) -> Scopes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those of the request with this head.
    pub(crate) fn of(parts: &Parts) -> Scopes {
        parts.extensions.get::<Self>().map_or_else(Scopes::default, Self::get)
    }
}
