//! A request to the client on its way to the task of its session.

use std::fmt;
use std::sync::Arc;

use protomcp_types::{ErrorObject, JsonBuf, Params, Progress};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use protomcp_session::{RequestKey, Reservation};

/// A question on its way to the session's task.
#[derive(Debug)]
pub(crate) struct ClientRequest {
    /// Tells the questions of a session apart.
    pub(crate) number: u64,
    /// The request that asks, if one does.
    pub(crate) during: Option<RequestKey>,
    pub(crate) method: &'static str,
    pub(crate) params: Params,
    pub(crate) answer: oneshot::Sender<Result<JsonBuf, ErrorObject>>,
    /// Open questions are counted by these.
    pub(crate) place: OwnedSemaphorePermit,
    /// Its bytes among those that wait to be read.
    pub(crate) room: Reservation,
    /// Told of the progress of the client.
    pub(crate) report: Option<ProgressCallback>,
}

/// Told how far a client is with a question.
#[derive(Clone)]
pub(crate) struct ProgressCallback(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressCallback {
    pub(crate) fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(crate) fn progress(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressCallback").finish_non_exhaustive()
    }
}
