//! Asking the host: requests of the server, from the question to the answer (MCP 2025-11-25, client/sampling,
//! client/roots, client/elicitation).
//!
//! A question goes to one session, the one of the call that asks, and to no other. The caller waits for the
//! answer; a caller that has dropped the future cancels the request. The session's task keeps the open questions
//! (`server/drive/asking`).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use protomcp_types::{ClientMethod, ErrorObject, JsonBuf, Params, RawJson};
use tokio::sync::oneshot;

use crate::client_request::ProgressCallback;
use crate::session_queue::SessionQueue;
use protomcp_session::{AskError, ClientInfo, RequestKey};

/// A question that was asked. Dropping it takes the question back.
struct Asked {
    number: u64,
    answer: oneshot::Receiver<Result<JsonBuf, ErrorObject>>,
    queue: Arc<SessionQueue>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        // Without effect when the answer is there.
        self.queue.withdraw(self.number);
    }
}

/// Sends the client of a session a request.
///
/// # Panics
/// When the parameters do not serialize as an object.
#[expect(clippy::too_many_arguments, reason = "each part of the request is needed once")]
pub(crate) fn ask<M: ClientMethod>(
    queue: &Arc<SessionQueue>,
    client: &ClientInfo,
    during: Option<RequestKey>,
    params: &M::Params,
    timeout: Duration,
    report: Option<ProgressCallback>,
) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<M> {
    let answer = if M::is_supported_by(params, &client.capabilities) {
        let params = Params::of(params).expect("the parameters of a method are an object");
        Ok(ask_raw(queue, during, M::NAME, params, timeout, report))
    } else {
        Err(AskError::NotSupported(M::NAME))
    };
    async move { answer?.await?.to().map_err(|error| AskError::Unreadable(error.to_string())) }
}

/// Sends the client of a session a request that it supports.
#[expect(clippy::too_many_arguments, reason = "each part of the request is needed once")]
pub(crate) fn ask_raw(
    queue: &Arc<SessionQueue>,
    during: Option<RequestKey>,
    method: &'static str,
    params: Params,
    timeout: Duration,
    report: Option<ProgressCallback>,
) -> impl Future<Output = Result<RawJson, AskError>> + Send + use<> {
    let asked = queue.ask(during, method, params, report);
    let asked = asked.map(|(number, answer)| Asked { number, answer, queue: Arc::clone(queue) });
    async move {
        let mut asked = asked.ok_or(AskError::TooMany)?;
        match tokio::time::timeout(timeout, &mut asked.answer).await {
            Ok(Ok(Ok(result))) => Ok(result.into_raw()),
            Ok(Ok(Err(error))) => Err(AskError::Refused(error)),
            Ok(Err(_)) => Err(AskError::Gone),
            Err(_) => Err(AskError::TimedOut(timeout)),
        }
    }
}
