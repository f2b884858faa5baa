//! The answer to "would a call be made now?", for probes of readiness.

use std::future::poll_fn;
use std::task::Poll;

use tokio::sync::watch;

use crate::dispatcher::serving::Serving;

/// The availability of the tool processes. Clones share the state.
#[derive(Debug, Clone)]
pub struct Availability(pub(crate) Vec<watch::Receiver<Serving>>);

impl Availability {
    /// False after every tool process has failed too often to be restarted, or the bridge has ended: calls fail
    /// immediately. True otherwise, also during a start, a restart and a reload, when calls wait.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.0.iter().any(|worker| !matches!(*worker.borrow(), Serving::Down(_)))
    }

    /// Waits until it may have changed. Returns false when the bridge has ended.
    pub async fn changed(&mut self) -> bool {
        let mut changes: Vec<_> = self.0.iter_mut().map(|worker| Box::pin(worker.changed())).collect();
        poll_fn(|cx| {
            let changed = changes.iter_mut().find_map(|change| match change.as_mut().poll(cx) {
                Poll::Ready(outcome) => Some(outcome.is_ok()),
                Poll::Pending => None,
            });
            changed.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
