//! Requests of a client, from the builder to the answer.
//!
//! Every request of a session passes the layers of its client and then `send`, as a [`ServerRequest`].

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_session::{
    CallId, CallerKey, NoAnswer, OutgoingCall, RequestError, ServerQuestion, ServerRequest, TaskNotice, TaskWish,
};
use protomcp_types::{ErrorObject, JsonObject, Method, Params, Progress, RawJson, code};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tower_layer::Layer;
use tower_service::Service;

use crate::cache::{Cache, Lookup};
use crate::command::{CallOutcome, Callback, Caller, Command, InputHandler, NewCall};
use crate::erased_service::{ErasedService, LayeredService};
use crate::session::{ClientSession, ServerContext};

/// A request, which `.await` sends. Dropping the future cancels the request.
///
/// # Errors
/// If the server refuses, does not answer in time, or answers with something else; and if the connection is over.
#[must_use = "the request is sent by `.await`"]
pub struct Request<M> {
    session: ClientSession,
    request: Result<ServerRequest, RequestError>,
    options: Options,
    method: PhantomData<fn() -> M>,
}

/// Any method: the marker of [`ClientSession::forward`](crate::ClientSession::forward).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forwarded;

impl Method for Forwarded {
    const NAME: &'static str = "the request";
    type Params = Params;
    type Result = RawJson;
}

/// The options of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    timeout: Option<Duration>,
    total_timeout: Option<Duration>,
    progress: Option<Callback<Progress>>,
    on_task: Option<Callback<TaskNotice>>,
    task: Option<TaskWish>,
    on_input: Option<InputHandler>,
    caller: Option<Arc<CallerKey>>,
    /// Do not answer from the cache.
    pub(crate) is_fresh: bool,
}

impl<M: Method> Request<M> {
    pub(crate) fn new(session: &ClientSession, request: ServerRequest) -> Self {
        Self { session: session.clone(), request: Ok(request), options: Options::default(), method: PhantomData }
    }

    pub(crate) fn of_params(session: &ClientSession, params: Result<Params, serde_json::Error>) -> Self {
        match params {
            Ok(params) => {
                let typed = ServerRequest::read(M::NAME.into(), params.clone());
                Self::new(session, typed.unwrap_or(ServerRequest::Other { method: M::NAME.into(), params }))
            }
            Err(error) => Self::failed(session, error.to_string()),
        }
    }

    /// A request whose parameters cannot be written.
    pub(crate) fn failed(session: &ClientSession, why: String) -> Self {
        let request = Err(RequestError::InvalidParams(why));
        Self { session: session.clone(), request, options: Options::default(), method: PhantomData }
    }

    /// Sets the time for which the request may be without an answer and without progress, instead of
    /// [`ClientLimits::timeout`](crate::ClientLimits::timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets the time for which the request may take in all, instead of
    /// [`ClientLimits::total_timeout`](crate::ClientLimits::total_timeout).
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.options.total_timeout = Some(timeout);
        self
    }

    /// Calls `report` with the progress of the request: in order, and none after the answer. Each report is greater than
    /// the one before, until the request is sent again, with answers to questions or in a new session. It runs on the
    /// task of the connection, and must not block.
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.options.progress = Some(Callback::new(report));
        self
    }

    /// Asks for a task, which the server keeps for `ttl`, where a server makes tasks at the client's wish (2025-11-25).
    /// The future is the same: it polls the task until there is a result. Servers of 2026-07-28 make tasks at their own
    /// choice.
    pub fn as_task(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        self.options.task = Some(TaskWish { ttl: ttl.into() });
        self
    }

    /// Calls `report` when the server makes a task of the request, and when the task changes. It runs on the task of
    /// the connection, and must not block.
    pub fn on_task(mut self, report: impl Fn(TaskNotice) + Send + Sync + 'static) -> Self {
        self.options.on_task = Some(Callback::new(report));
        self
    }

    /// Answers the questions that the server asks before it answers this request, instead of the handlers of the client:
    /// all questions of a round together, by key. This is for revisions without a session, and for tasks; with a session
    /// a question does not name its request, so the handlers of the client get it. An error fails the request with
    /// [`RequestError::NoInput`].
    ///
    /// Servers ask what the client declares ([`Client::capabilities`](crate::Client::capabilities)).
    pub fn on_input<F>(
        mut self,
        handler: impl Fn(Vec<ServerQuestion>, ServerContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<BTreeMap<String, RawJson>, ErrorObject>> + Send + 'static,
    {
        let context = ServerContext::new(&self.session);
        self.options.on_input = Some(InputHandler::new(move |questions| handler(questions, context.clone())));
        self
    }

    /// Sends the request for one of several callers, such as the users of a gateway. Where requests wait for their turn
    /// (a server of proto-mcp in a memory transport), callers take turns by their owners. The server learns nothing of it.
    pub fn for_caller(mut self, caller: CallerKey) -> Self {
        self.options.caller = Some(Arc::new(caller));
        self
    }

    /// Asks the server even if a fresh answer is in the cache.
    pub fn fresh(mut self) -> Self {
        self.options.is_fresh = true;
        self
    }

    /// Sends the request and returns its result as text.
    pub fn raw(self) -> BoxFuture<'static, Result<RawJson, RequestError>> {
        let Self { session, request, options, .. } = self;
        match request {
            Ok(request) => session.service.send(ClientRequest { request, session: session.clone(), options }),
            Err(error) => std::future::ready(Err(error)).boxed(),
        }
    }
}

impl<M: Method<Result: DeserializeOwned> + 'static> IntoFuture for Request<M> {
    type Output = Result<M::Result, RequestError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Sends the request.
    fn into_future(self) -> Self::IntoFuture {
        let answer = self.raw();
        async move {
            let raw = answer.await?;
            raw.to().map_err(|error| RequestError::InvalidAnswer(format!("{}: {error}", M::NAME)))
        }
        .boxed()
    }
}

/// A request on its way through the layers of a client ([`Client::layer`](crate::Client::layer)). A clone is the same
/// request once more, for layers that repeat requests.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    /// The request, which layers may change.
    pub request: ServerRequest,
    session: ClientSession,
    options: Options,
}

impl ClientRequest {
    /// The session that sends it.
    #[must_use]
    pub fn session(&self) -> &ClientSession {
        &self.session
    }
}

/// Sends requests: what a layer of a client wraps. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct RequestService(Option<ErasedService<ClientRequest>>);

impl RequestService {
    /// This service in a layer.
    pub(crate) fn layered<L>(self, layer: &L) -> Self
    where
        L: Layer<Self>,
        L::Service: LayeredService<ClientRequest>,
    {
        Self(Some(ErasedService::new(layer.layer(self))))
    }

    fn send(&self, request: ClientRequest) -> BoxFuture<'static, Result<RawJson, RequestError>> {
        match &self.0 {
            Some(layers) => layers.send(request),
            None => send(request),
        }
    }
}

impl Service<ClientRequest> for RequestService {
    type Response = RawJson;
    type Error = RequestError;
    type Future = BoxFuture<'static, Result<RawJson, RequestError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ClientRequest) -> Self::Future {
        self.send(request)
    }
}

/// The one way out: every request of a session passes here, behind the layers of the client.
fn send(
    ClientRequest { session, request, options }: ClientRequest,
) -> BoxFuture<'static, Result<RawJson, RequestError>> {
    let method = request.method().to_owned();
    if session.is_closed() {
        return std::future::ready(Err(session.closed_error())).boxed();
    }
    let lookup = lookup(&session, &request);
    if let Some(lookup) = lookup.as_ref().filter(|_| !options.is_fresh)
        && let Some(answer) = session.shared.cache().find(lookup, now())
    {
        return std::future::ready(Ok(answer)).boxed();
    }
    let again = session.shared.mirrors().then(|| request.clone()).filter(|request| request.tool().is_some());
    let begun = tokio::time::Instant::now();
    let first = Sent::begin(&session, request, &options, Duration::ZERO);
    async move {
        let outcome = match (first?.await, again) {
            // The definition of the tool has changed (MCP 2026-07-28, server/tools).
            (CallOutcome { outcome: Err(error), .. }, Some(request)) if error.code() == Some(code::HEADER_MISMATCH) => {
                let total = options.total_timeout.unwrap_or(session.shared.total_timeout);
                // Without layers: a limit of theirs may hold this request back until the call has ended.
                let bare = session.without_layers();
                let refreshed = tokio::time::timeout(total.saturating_sub(begun.elapsed()), bare.refresh_tools()).await;
                refreshed.map_err(|_| RequestError::TimedOut(total))??;
                Sent::begin(&session, request, &options, begun.elapsed())?.await
            }
            (outcome, _) => outcome,
        };
        if let Err(RequestError::Unanswered { why: NoAnswer::Unauthorized, .. }) = &outcome.outcome {
            // The next answers may be for another user.
            session.forget_answers();
        }
        let answer = outcome.outcome?.into_raw();
        tracing::trace!(method, "answered");
        if let Some(lookup) = lookup.filter(|_| outcome.rounds == 0) {
            let context = session.shared.context();
            session.shared.cache().keep(lookup, &answer, context, now());
        }
        Ok(answer)
    }
    .boxed()
}

/// The request as the cache sees it; `None` if its answer is never kept.
fn lookup(session: &ClientSession, request: &ServerRequest) -> Option<Lookup> {
    // A call is not cloned for a cache that keeps no answers to calls.
    if !session.shared.is_stateless() || !Cache::keeps(request.method()) {
        return None;
    }
    let members = match request.clone().into_params() {
        Params::Named(members) => members,
        Params::Absent => JsonObject::new(),
        Params::Positional(_) => return None,
    };
    let context = session.shared.context();
    session.shared.cache().lookup(request.method(), &members, context)
}

/// A request that was sent. Dropping it cancels the request.
struct Sent {
    session: ClientSession,
    call: CallId,
    answer: oneshot::Receiver<CallOutcome>,
    is_done: bool,
}

impl Sent {
    /// Sends a request for which `elapsed` of its time in all has passed.
    fn begin(
        session: &ClientSession,
        request: ServerRequest,
        options: &Options,
        elapsed: Duration,
    ) -> Result<Self, RequestError> {
        let permit = Arc::clone(&session.shared.permits);
        let permit = permit.try_acquire_owned().map_err(|_| RequestError::TooMany)?;
        let fields = match &request {
            ServerRequest::CallTool(call) if session.shared.mirrors() => {
                // The lock is not held while the arguments are read.
                let mirrored = session.shared.tool_fields().find(&call.name);
                mirrored.map(|mirrored| mirrored.fields(&call.arguments_or_empty())).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let method = match request.method() {
            "tools/call" => "tools/call".into(),
            method => method.to_owned().into(),
        };
        let request = OutgoingCall {
            method,
            params: request.into_params(),
            fields,
            wants_progress: options.progress.is_some(),
            timeout: options.timeout,
            total_timeout: options.total_timeout,
            task: options.task,
            elapsed,
            caller: options.caller.clone(),
        };
        let (answer, outcome) = oneshot::channel();
        let (progress, task) = (options.progress.clone(), options.on_task.clone());
        let caller = Caller { answer, progress, task, input: options.on_input.clone(), permit: Some(permit) };
        let call = session.shared.next_call();
        session.tell(Command::Call(Box::new(NewCall { id: call, request, caller })));
        Ok(Self { session: session.clone(), call, answer: outcome, is_done: false })
    }
}

impl Future for Sent {
    type Output = CallOutcome;

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallOutcome> {
        self.answer.poll_unpin(cx).map(|answer| {
            self.is_done = true;
            answer.unwrap_or_else(|_| CallOutcome { outcome: Err(self.session.closed_error()), rounds: 0 })
        })
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if !self.is_done {
            self.session.tell(Command::Cancel(self.call));
        }
    }
}

impl<M> fmt::Debug for Request<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("request", &self.request)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The clock of the runtime, which tests can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
