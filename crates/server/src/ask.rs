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

use crate::host_request::Report;
use crate::outbox::Outbox;
use protomcp_session::{AskError, ClientInfo, RequestKey};

/// A question that was asked. Dropping it takes the question back.
struct Asked {
    number: u64,
    answer: oneshot::Receiver<Result<JsonBuf, ErrorObject>>,
    outbox: Arc<Outbox>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        // Without effect when the answer is there.
        self.outbox.withdraw(self.number);
    }
}

/// Asks the host behind an outbox.
///
/// # Panics
/// When the parameters do not serialize as an object.
pub(crate) fn ask<M: ClientMethod>(
    outbox: &Arc<Outbox>,
    client: &ClientInfo,
    during: Option<RequestKey>,
    params: &M::Params,
    timeout: Duration,
    report: Option<Report>,
) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<M> {
    let answer = if M::is_supported_by(params, &client.capabilities) {
        let params = Params::of(params).expect("the parameters of a method are an object");
        Ok(ask_raw(outbox, during, M::NAME, params, timeout, report))
    } else {
        Err(AskError::NotSupported(M::NAME))
    };
    async move { answer?.await?.to().map_err(|error| AskError::Unreadable(error.to_string())) }
}

/// Asks the host behind an outbox something that it is known to answer.
pub(crate) fn ask_raw(
    outbox: &Arc<Outbox>,
    during: Option<RequestKey>,
    method: &'static str,
    params: Params,
    timeout: Duration,
    report: Option<Report>,
) -> impl Future<Output = Result<RawJson, AskError>> + Send + use<> {
    let asked = outbox.ask(during, method, params, report);
    let asked = asked.map(|(number, answer)| Asked { number, answer, outbox: Arc::clone(outbox) });
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
