//! The requests that listen to each resource, for all connections together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::records::listener_store::ListenerStore;

/// Counts the requests that listen to each resource.
#[derive(Debug)]
pub(crate) struct ResourceListeners {
    counts: Arc<dyn ListenerStore>,
    beginning: Mutex<HashMap<String, Beginning>>,
}

/// The requests for a resource of which the service was told, and which it has not answered.
#[derive(Debug, Default)]
struct Beginning {
    requests: usize,
    /// A request that the service has accepted has ended since.
    has_ended: bool,
}

impl ResourceListeners {
    pub(super) fn new(counts: Arc<dyn ListenerStore>) -> Self {
        Self { counts, beginning: Mutex::default() }
    }

    /// The requests that the service has accepted.
    pub(crate) fn counts(&self) -> &dyn ListenerStore {
        &*self.counts
    }

    /// Counts a request of which the service has not been told.
    pub(crate) fn begin<'a>(&'a self, uri: &'a str) -> Begun<'a> {
        let mut all = self.beginning();
        let beginning = all.entry(uri.to_owned()).or_default();
        beginning.requests += 1;
        Begun { all: self, uri, is_only: beginning.requests == 1 }
    }

    /// Notes for the requests that begin that another one, which the service has accepted, ends.
    pub(crate) fn note_end(&self, uri: &str) {
        if let Some(beginning) = self.beginning().get_mut(uri) {
            beginning.has_ended = true;
        }
    }

    /// True if a request that the service has accepted has ended while another one began.
    pub(crate) fn has_ended(&self, uri: &str) -> bool {
        self.beginning().get(uri).is_some_and(|beginning| beginning.has_ended)
    }

    fn beginning(&self) -> MutexGuard<'_, HashMap<String, Beginning>> {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of which the service was told. Dropping it is the end of that.
pub(crate) struct Begun<'a> {
    all: &'a ResourceListeners,
    uri: &'a str,
    /// No other request for the resource was beginning.
    pub(crate) is_only: bool,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut all = self.all.beginning();
        let Some(beginning) = all.get_mut(self.uri) else { return };
        beginning.requests -= 1;
        if beginning.requests == 0 {
            all.remove(self.uri);
        }
    }
}
