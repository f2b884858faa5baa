//! The answer of the readiness probe.

use tokio::sync::watch;

/// The readiness of a server for requests, as `/readyz` reports it. Not ready at first. Clones share the state.
#[derive(Debug, Clone)]
pub struct Readiness(watch::Sender<bool>);

impl Readiness {
    /// Reports the server as ready.
    pub fn set_ready(&self) {
        self.0.send_replace(true);
    }

    /// Reports the server as not ready, because it shuts down for example.
    pub fn set_unready(&self) {
        self.0.send_replace(false);
    }

    /// True while the server is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.0.borrow()
    }

    /// The readiness, and its changes.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}

impl Default for Readiness {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}
