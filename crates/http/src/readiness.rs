//! The answer of the readiness probe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The readiness of a server for requests, as `/readyz` reports it. Not ready at first. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Reports the server as ready.
    pub fn set_ready(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Reports the server as not ready, because it shuts down for example.
    pub fn set_unready(&self) {
        self.0.store(false, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
