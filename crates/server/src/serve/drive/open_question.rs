//! A request to the client that has no answer yet.

use protomcp_session::{CallId, RequestKey};
use protomcp_types::{ErrorObject, JsonBuf};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::call::client_request::ProgressCallback;

/// A question that waits for the client. There are few at a time, so they are searched one by one.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) call: CallId,
    pub(super) number: u64,
    pub(super) method: &'static str,
    /// The request that asks.
    pub(super) during: Option<RequestKey>,
    pub(super) answer: oneshot::Sender<Result<JsonBuf, ErrorObject>>,
    pub(super) slot: OwnedSemaphorePermit,
    pub(super) report: Option<ProgressCallback>,
}
