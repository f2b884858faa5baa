//! Asking the host: requests of the server, from the question to the answer (MCP 2025-11-25, client/sampling,
//! client/roots, client/elicitation).
//!
//! A question goes to one session, the one of the call that asks, and to no other. Whoever asks waits; who does not
//! wait any more has dropped the future, and the host is told so. The session's task keeps the open questions
//! (`server/drive/asking`).

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use protomcp_types::{Body, ErrorObject, HostMethod, Params, Progress, RawJson};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::budget::Reservation;
use crate::outbox::Outbox;
use crate::session::{Client, Ticket};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The host does not know this kind of question; it was not asked.
    #[error("the host does not support {0}")]
    NotSupported(&'static str),
    /// The host, or its user, has refused.
    #[error("the host refused: {0}")]
    Refused(ErrorObject),
    /// The host has answered with something else.
    #[error("the host's answer cannot be read: {0}")]
    Unreadable(String),
    /// The session is over, or the call that asks is answered or cancelled.
    #[error("nobody is there to be asked any more")]
    Gone,
    /// The host has opened no session, because its revision has none: it can be asked while one of its requests is
    /// answered, and not otherwise.
    #[error("the host has no session: it can be asked only while it waits for an answer")]
    NoSession,
    /// The host took too long, and was told that nobody waits any more.
    #[error("the host did not answer within {0:?}")]
    TimedOut(Duration),
    /// The host has not answered so many questions that it gets no more.
    #[error("too many questions wait for the host's answer")]
    TooMany,
    /// Without a session, only calls of tools, prompts and reads of resources may ask (MCP 2026-07-28,
    /// basic/patterns/mrtr).
    #[error("nothing can be asked during this request")]
    OutOfPlace,
}

/// For handlers that cannot go on without the answer.
impl From<AskError> for ErrorObject {
    fn from(error: AskError) -> Self {
        Self::internal(error.to_string())
    }
}

/// A question on its way to the session's task.
#[derive(Debug)]
pub(crate) struct Question {
    /// Tells the questions of a session apart.
    pub(crate) number: u64,
    /// The request that asks, if one does.
    pub(crate) during: Option<Ticket>,
    pub(crate) method: &'static str,
    pub(crate) params: Params,
    pub(crate) answer: oneshot::Sender<Result<Body, ErrorObject>>,
    /// Open questions are counted by these.
    pub(crate) place: OwnedSemaphorePermit,
    /// Its bytes among those that wait to be read.
    pub(crate) room: Reservation,
    /// Who wants to know how far the host is.
    pub(crate) report: Option<Report>,
}

/// Told how far a host is with a question.
#[derive(Clone)]
pub(crate) struct Report(Arc<dyn Fn(Progress) + Send + Sync>);

impl Report {
    pub(crate) fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(crate) fn progress(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").finish_non_exhaustive()
    }
}

/// A question that was asked. Dropping it takes the question back.
struct Asked {
    number: u64,
    answer: oneshot::Receiver<Result<Body, ErrorObject>>,
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
pub(crate) fn ask<M: HostMethod>(
    outbox: &Arc<Outbox>,
    client: &Client,
    during: Option<Ticket>,
    params: &M::Params,
    timeout: Duration,
    report: Option<Report>,
) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<M> {
    let answer = if M::is_answered_by(params, &client.capabilities) {
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
    during: Option<Ticket>,
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
