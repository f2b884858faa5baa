//! A request to the client on its way to the task of its session.

use std::fmt;
use std::sync::Arc;

use protomcp_types::{ErrorObject, JsonBuf, Params, Progress};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use protomcp_fair::Reservation;
use protomcp_session::RequestKey;

/// A request of a call or of the server to the client.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingRequest {
    /// The client's request that it belongs to, if it belongs to one.
    pub(crate) during: Option<RequestKey>,
    pub(crate) method: &'static str,
    pub(crate) params: Params,
    /// Called with the progress of the client.
    pub(crate) progress: Option<ProgressCallback>,
}

/// A request to the client on its way to the session's task.
#[derive(Debug)]
pub(crate) struct ClientRequest {
    /// Identifies the request within its session.
    pub(crate) number: u64,
    pub(crate) request: OutgoingRequest,
    pub(crate) answer: oneshot::Sender<Result<JsonBuf, ErrorObject>>,
    /// A slot among the requests without an answer.
    pub(crate) slot: OwnedSemaphorePermit,
    /// Its bytes in the outbound budget.
    pub(crate) reservation: Reservation,
}

/// Takes the progress that a client makes with a question.
#[derive(Clone)]
pub struct ProgressCallback(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressCallback {
    pub(crate) fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// The client has made this progress.
    pub fn progress(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressCallback").finish_non_exhaustive()
    }
}
