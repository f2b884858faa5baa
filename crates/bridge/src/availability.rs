//! The answer to "would a call be made now?", for probes of readiness.

use tokio::sync::watch;

use crate::dispatcher::serving::Serving;

/// The availability of the tool process. Clones share the state.
#[derive(Debug, Clone)]
pub struct Availability(pub(crate) watch::Receiver<Serving>);

impl Availability {
    /// False after the tool process has failed too often to be restarted, or the bridge has ended: calls fail at once.
    /// True otherwise, also during a start, a restart and a reload, when calls wait.
    #[must_use]
    pub fn is_available(&self) -> bool {
        !matches!(*self.0.borrow(), Serving::Down(_))
    }

    /// Waits until it may have changed. Returns false when the bridge has ended.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
