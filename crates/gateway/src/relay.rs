//! One request on its way to a server and back: the same parameters, progress in order, questions to its client, and
//! cancellation.

mod visiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protomcp_client::{ClientSession, CloseReason, Forwarded, Request, RequestError};
use protomcp_server::{Audience, Context, ServerRequest, TaskOptions};
use protomcp_types::{Params, RawJson};

use crate::failure::{Failure, Why};
use crate::identity;
use crate::inner::Inner;
use crate::limits::GatewayLimits;
use crate::pool::Lease;
use crate::questions;
use crate::relay::visiting::Visits;
use crate::translate::{self, Caller};
use crate::upstream_session::UpstreamSession;
use crate::web_pages;

/// The answer of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) raw: RawJson,
    /// The client was asked for input.
    pub(crate) has_asked: bool,
}

/// The task that a request asks the server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskWish {
    None,
    /// The server shall keep the task for this long.
    Task(Option<Duration>),
    /// The tool has to be a task, and the client cannot wait for one.
    Refused,
}

impl Inner {
    /// Sends a request of a client to a server, and returns the answer. A request that changes nothing is sent once more
    /// if its session is lost.
    ///
    /// # Errors
    /// If there is none, or an error.
    pub(crate) async fn relay(
        &self,
        lease: &mut Lease,
        context: &Context,
        request: ServerRequest,
        wish: TaskWish,
    ) -> Result<Answer, Failure> {
        let mut visits = Visits::new();
        loop {
            let failure = match self.send_for_sure(lease, context, request.clone(), wish).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let Some(error) = failure.refusal().filter(|error| web_pages::are_required(error)) else {
                return Err(failure);
            };
            let (upstream, pages) = (lease.session().newest(), web_pages::required(error));
            if !context.is_stateless() {
                pages.iter().for_each(|(id, _)| upstream.pages().opened(id, context.session()));
                let error = self.environment.with_page_ids(&upstream.reach, error.clone());
                return Err(upstream.reach.failure(Why::Request(RequestError::Refused(error))));
            }
            visits.make(self, &upstream, context, pages).await?;
        }
    }

    async fn send_for_sure(
        &self,
        lease: &mut Lease,
        context: &Context,
        request: ServerRequest,
        wish: TaskWish,
    ) -> Result<Answer, Failure> {
        let again = changes_nothing(&request).then(|| request.clone());
        match (self.send(lease, context, request, wish).await, again) {
            (Err(failure), Some(request)) if failure.is_lost() => self.send(lease, context, request, wish).await,
            (outcome, _) => outcome,
        }
    }

    async fn send(
        &self,
        lease: &mut Lease,
        context: &Context,
        mut request: ServerRequest,
        wish: TaskWish,
    ) -> Result<Answer, Failure> {
        lease.begins();
        let gone = || lease.session().reach.failure(Why::Gone);
        let (upstream, session) = &tokio::select! {
            biased;
            () = context.cancelled() => return Err(gone()),
            entered = lease.session().enter() => entered?,
        };
        self.set_meta(&mut request, session, upstream, context);
        let has_asked = Arc::new(AtomicBool::new(false));
        let too_many = || upstream.reach.failure(Why::Request(RequestError::TooMany));
        let running = upstream.running.begin(context.clone(), session, identity::MAX_PENDING).ok_or_else(too_many)?;
        let forwarded = session.forward(request).for_caller(context.caller().clone());
        let mut sent = self.watched(forwarded, upstream, context, &has_asked);
        if let TaskWish::Task(ttl) = wish {
            sent = sent.as_task(ttl);
        }
        let outcome = tokio::select! {
            biased;
            // Dropping the request cancels it at the server.
            () = context.cancelled() => return Err(upstream.reach.failure(Why::Gone)),
            outcome = sent.raw() => outcome,
        };
        if matches!(outcome, Ok(_) | Err(RequestError::Refused(_))) {
            lease.answered();
            running.answered();
        }
        if upstream.learn(&outcome) {
            self.environment.lists_changed(&Audience::Everyone);
        }
        match outcome {
            Ok(raw) => Ok(Answer { raw, has_asked: has_asked.load(Ordering::Relaxed) }),
            Err(error) => Err(upstream.reach.failure(Why::Request(self.without_last_words(error, upstream)))),
        }
    }

    /// The last words of a process, such as its standard error, are for its only user.
    fn without_last_words(&self, error: RequestError, upstream: &UpstreamSession) -> RequestError {
        let is_for_one = upstream.client.is_some() || self.clients.sole_owner().is_some();
        match error {
            RequestError::Closed(CloseReason::ByServer(Some(_))) if !is_for_one => {
                RequestError::Closed(CloseReason::ByServer(None))
            }
            error => error,
        }
    }

    /// A request whose progress, questions and task belong to the call.
    fn watched(
        &self,
        request: Request<Forwarded>,
        upstream: &Arc<UpstreamSession>,
        context: &Context,
        has_asked: &Arc<AtomicBool>,
    ) -> Request<Forwarded> {
        let (asker, asking, asked) = (Arc::clone(upstream), context.clone(), Arc::clone(has_asked));
        let request = request.on_input(move |questions, _| {
            let (upstream, context) = (Arc::clone(&asker), asking.clone());
            asked.store(true, Ordering::Relaxed);
            async move { questions::ask_all(upstream.place(), &context, questions).await.map_err(questions::refused) }
        });
        let task = context.clone();
        let request = request.on_task(move |notice| {
            // A call that its client waits for stays one.
            task.continue_as_task(TaskOptions::default());
            if let Some(message) = &notice.message {
                task.set_task_message(message);
            }
        });
        // Progress prolongs the time for the answer, also if the client wants none.
        let GatewayLimits { timeout, total_timeout, .. } = self.environment.limits;
        if context.progress_token().is_none() && timeout >= total_timeout {
            return request;
        }
        let reporting = context.clone();
        request.on_progress(move |progress| reporting.progress(&progress))
    }

    /// Replaces the members of `_meta` that are for the gateway alone, and passes on the client and its log level.
    fn set_meta(
        &self,
        request: &mut ServerRequest,
        session: &ClientSession,
        upstream: &Arc<UpstreamSession>,
        context: &Context,
    ) {
        let capabilities = identity::passed_on(context);
        let caller = if session.server().is_stateful() {
            if let Some(level) = self.level_of(context) {
                upstream.lower_level(level);
            }
            None
        } else {
            Some(Caller { implementation: context.client(), capabilities: &capabilities, level: context.log_level() })
        };
        if let Some(meta) = meta_of(request) {
            *meta = translate::request_meta(meta.take(), caller);
        } else if let ServerRequest::Other { params: Params::Named(members), .. } = request
            && let Some(meta) = translate::request_meta(members.take("_meta"), caller)
        {
            members.insert("_meta", meta);
        }
    }
}

/// True for requests that a server can answer twice.
fn changes_nothing(request: &ServerRequest) -> bool {
    matches!(
        request,
        ServerRequest::ListTools(_)
            | ServerRequest::ListResources(_)
            | ServerRequest::ListResourceTemplates(_)
            | ServerRequest::ListPrompts(_)
            | ServerRequest::ReadResource(_)
            | ServerRequest::GetPrompt(_)
            | ServerRequest::Complete(_)
    )
}

fn meta_of(request: &mut ServerRequest) -> Option<&mut Option<RawJson>> {
    Some(match request {
        ServerRequest::ListTools(request) => &mut request.meta,
        ServerRequest::CallTool(request) => &mut request.meta,
        ServerRequest::ListResources(request) => &mut request.meta,
        ServerRequest::ListResourceTemplates(request) => &mut request.meta,
        ServerRequest::ReadResource(request) => &mut request.meta,
        ServerRequest::Subscribe(request) => &mut request.meta,
        ServerRequest::Unsubscribe(request) => &mut request.meta,
        ServerRequest::ListPrompts(request) => &mut request.meta,
        ServerRequest::GetPrompt(request) => &mut request.meta,
        ServerRequest::Complete(request) => &mut request.meta,
        ServerRequest::GetTask(request) => &mut request.meta,
        ServerRequest::GetTaskPayload(request) => &mut request.meta,
        ServerRequest::ListTasks(request) => &mut request.meta,
        ServerRequest::CancelTask(request) => &mut request.meta,
        ServerRequest::Other { .. } => return None,
    })
}
