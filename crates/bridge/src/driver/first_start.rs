//! The first start of the first worker, as the drivers of the others see it.

use std::sync::Arc;

use tokio::sync::{SetOnce, watch};

use crate::driver::progress::Outcome;

/// The first start of a worker: the other workers wait for it, so that it has the machine for itself, and a file that
/// does not start ends one process.
#[derive(Debug, Clone)]
pub(crate) struct FirstStart {
    pub(crate) outcome: watch::Receiver<Outcome>,
    pub(crate) requests: Arc<SetOnce<Result<(), String>>>,
}

impl FirstStart {
    /// Waits until it has ended, well or not.
    ///
    /// # Errors
    /// The text for clients, if the bridge ends because of it.
    pub(crate) async fn wait(mut self) -> Result<(), String> {
        let ended = self.outcome.wait_for(|outcome| *outcome != Outcome::Pending).await;
        match (ended, self.requests.get()) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(Err(why))) => Err(why.clone()),
            (Err(_), _) => Err("the bridge is shutting down".into()),
        }
    }
}
