//! Requests of the server to the client, from the request to the answer (MCP 2025-11-25, client/sampling, client/roots,
//! client/elicitation).
//!
//! A request goes to one session, the one of the call that asks, and to no other. The session's task keeps the requests
//! that have no answer (`server/drive/asking`).

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_types::{ClientMethod, ErrorObject, JsonBuf, Progress, RawJson};
use tokio::sync::oneshot;

use crate::call::client_request::{OutgoingRequest, ProgressCallback};
use crate::call::context::Context;
use crate::call::session_queue::SessionQueue;
use protomcp_session::{AskError, InputRequest};

/// A request to the client, which `.await` sends: `sampling/createMessage`, `roots/list`, `elicitation/create` and,
/// with a session, `ping`.
///
/// [`Context::ask`] asks the client of a call, [`SessionHandle::ask`](crate::SessionHandle::ask) the client of a
/// session. [`IntoFuture::into_future`] sends the request immediately and returns the future of the answer, for example
/// to spawn it. Dropping that future cancels the request.
///
/// ```
/// use std::time::Duration;
///
/// use protomcp_server::{AskError, Context};
/// use protomcp_types::{Elicit, RawJson};
///
/// async fn name(context: &Context) -> Result<Option<RawJson>, AskError> {
///     let form = Elicit::form("Who are you?", RawJson::EMPTY_OBJECT);
///     let answer = context.ask::<Elicit>(&form).key("who").timeout(Duration::from_secs(60)).await?;
///     Ok(answer.content)
/// }
/// ```
///
/// # Errors
/// Immediately if the client does not declare the capability for it or owes too many answers; if it refuses or takes
/// too long; and if the call is cancelled or the session ends. A stateless call that then fails is answered with the
/// capability that the client would have to declare.
#[must_use = "the request is sent by `.await`"]
pub struct Ask<M> {
    asker: Asker,
    input: Result<InputRequest, AskError>,
    timeout: Duration,
    progress: Option<ProgressCallback>,
    method: PhantomData<fn() -> M>,
}

/// The part of the server that asks.
enum Asker {
    Call(Context),
    /// No call; `Err`: the session cannot be asked.
    Session(Result<Arc<SessionQueue>, AskError>),
}

impl<M: ClientMethod> Ask<M> {
    pub(crate) fn in_call(context: &Context, params: &M::Params, timeout: Duration) -> Self {
        let is_supported = context.is_checked_later() || M::is_supported_by(params, context.capabilities());
        Self::new(Asker::Call(context.clone()), is_supported, params, timeout)
    }

    pub(crate) fn in_session(
        queue: Result<Arc<SessionQueue>, AskError>,
        params: &M::Params,
        timeout: Duration,
    ) -> Self {
        let client = queue.as_ref().ok().and_then(|queue| queue.client().cloned());
        let queue = if client.is_some() { queue } else { queue.and(Err(AskError::NoSession)) };
        let is_supported = client.is_none_or(|client| M::is_supported_by(params, &client.capabilities));
        Self::new(Asker::Session(queue), is_supported, params, timeout)
    }

    fn new(asker: Asker, is_supported: bool, params: &M::Params, timeout: Duration) -> Self {
        let input = if is_supported {
            Ok(InputRequest::of::<M>(String::new(), params))
        } else {
            Err(AskError::NotSupported(M::NAME))
        };
        Self { asker, input, timeout, progress: None, method: PhantomData }
    }

    /// Sets the key by which the client of a stateless call tells questions apart. Otherwise the key follows from the
    /// kind of question and its place among the questions of its kind, such as `elicitation-1`. With a session it means
    /// nothing.
    ///
    /// A client may send answers along before it is asked. They count when a question with their key comes.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        if let Ok(input) = &mut self.input {
            input.key = key.into();
        }
        self
    }

    /// Sets the time limit, which is [`Limits::ask_timeout`](crate::Limits::ask_timeout) otherwise.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Calls `report` with the progress that the client reports. A stateless call has no such reports.
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(ProgressCallback::new(report));
        self
    }
}

impl<M: ClientMethod> IntoFuture for Ask<M> {
    type Output = Result<M::Result, AskError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Sends the request.
    fn into_future(self) -> Self::IntoFuture {
        let Self { asker, input, timeout, progress, .. } = self;
        let answer = match (asker, input) {
            (Asker::Session(Err(error)), _) | (_, Err(error)) => Err(error),
            (Asker::Call(context), Ok(input)) => Ok(context.send(input, timeout, progress)),
            (Asker::Session(Ok(queue)), Ok(input)) => {
                let request =
                    OutgoingRequest { during: None, method: input.method, params: input.params.into(), progress };
                Ok(ask_raw(&queue, request, timeout).boxed())
            }
        };
        async move { answer?.await?.to().map_err(|error| AskError::Unreadable(error.to_string())) }.boxed()
    }
}

impl<M> fmt::Debug for Ask<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("input", &self.input).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// A request that was sent. Dropping it cancels the request.
struct Sent {
    number: u64,
    answer: oneshot::Receiver<Result<JsonBuf, ErrorObject>>,
    queue: Arc<SessionQueue>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        // Without effect when the answer is there.
        self.queue.withdraw(self.number);
    }
}

/// Sends the client of a session a request that it supports.
pub(crate) fn ask_raw(
    queue: &Arc<SessionQueue>,
    request: OutgoingRequest,
    timeout: Duration,
) -> impl Future<Output = Result<RawJson, AskError>> + Send + use<> {
    let sent = queue.ask(request);
    let sent = sent.map(|(number, answer)| Sent { number, answer, queue: Arc::clone(queue) });
    async move {
        let mut sent = sent.ok_or(AskError::TooMany)?;
        match tokio::time::timeout(timeout, &mut sent.answer).await {
            Ok(Ok(Ok(result))) => Ok(result.into_raw()),
            Ok(Ok(Err(error))) => Err(AskError::Refused(error)),
            Ok(Err(_)) => Err(AskError::Gone),
            Err(_) => Err(AskError::TimedOut(timeout)),
        }
    }
}
