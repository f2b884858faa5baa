//! Tasks with a session: calls whose request is answered with a task, which the client polls until the call has ended
//! (MCP 2025-11-25, basic/utilities/tasks).
//!
//! A handler holds [`Tasks`] and begins one for a call; the server answers all requests about them. The call runs like
//! any other, with a [`Context`] that belongs to the task: questions, progress and cancellation go through it. A task
//! belongs to the session that began it, and is forgotten with it. Tasks of the stateless revision do not use this
//! file ([`Context::continue_as_task`]).

mod session_task;

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_types::{
    CallTool, CallToolResult, CancelTask, CreateTaskResult, ErrorObject, GetTaskPayload, ListTasks, ListTasksResult,
    Method, Task, meta,
};

use crate::cancel::Cancel;
use crate::catch_unwind::catch_unwind;
use crate::context::Context;
use crate::ended;
use crate::observer::SessionObserver;
use crate::overload;
use crate::server::ServerHandle;
use crate::task_store::{Belongs, Room, TaskStore};
use protomcp_session::{ServerRequest, ServerResult, SessionId, TaskOptions, TaskOutcome, TaskState};

pub(crate) use crate::tasks::session_task::SessionTask;

/// The tasks of all sessions of a server. Cloning is cheap.
///
/// Their number, their time and the bytes of their results are bounded by
/// [`Limits`](crate::Limits).
///
/// ```
/// use protomcp_server::{Context, Handler, ServerInfo, TaskOptions, Tasks};
/// use protomcp_types::{CallTool, CallToolResult, CreateTaskResult, ErrorObject, ServerCapabilities};
///
/// struct Slow {
///     tasks: Tasks,
/// }
///
/// async fn work(context: Context) -> Result<CallToolResult, ErrorObject> {
///     context.set_task_message("the first half");
///     Ok(CallToolResult::text("done"))
/// }
///
/// impl Handler for Slow {
///     fn info(&self) -> ServerInfo {
///         let capabilities = ServerCapabilities::default().with_tools().with_tasks();
///         ServerInfo::new("slow", "1.0").with_capabilities(capabilities)
///     }
///
///     async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
///         self.tasks.begin(&context, call.task_ttl(), TaskOptions::default(), work)
///     }
///
///     fn tasks(&self) -> Option<&Tasks> {
///         Some(&self.tasks)
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

struct Inner {
    sessions: ServerHandle,
    store: TaskStore<SessionId, Arc<SessionTask>>,
}

impl Tasks {
    /// None yet.
    #[must_use]
    pub fn new(sessions: ServerHandle) -> Self {
        let limits = sessions.limits().tasks;
        let room = Room { tasks: limits.max, of_one: limits.max_per_session, bytes: limits.max_bytes };
        Self(Arc::new(Inner { store: TaskStore::new(room), sessions }))
    }

    /// Answers a call with a task, and runs it in the background once the answer is sent. The context that `run` gets
    /// belongs to the task. `wish`: the milliseconds for which the client requests that the task is kept
    /// ([`CallTool::task_ttl`]). Must be called inside a tokio runtime with timers.
    ///
    /// # Errors
    /// −32603 when the session or its caller has too many tasks; −32601 for a request without a session.
    pub fn begin<R, F>(
        &self,
        context: &Context,
        wish: Option<u64>,
        options: TaskOptions,
        run: R,
    ) -> Result<CreateTaskResult, ErrorObject>
    where
        R: FnOnce(Context) -> F + Send + 'static,
        F: Future<Output = Result<CallToolResult, ErrorObject>> + Send + 'static,
    {
        if context.is_stateless() {
            return Err(ErrorObject::method_not_found(CallTool::NAME));
        }
        let limits = self.0.sessions.limits();
        let ttl = wish.map_or(options.ttl, Duration::from_millis).min(limits.tasks.max_ttl);
        let (now, session) = (now(), context.session());
        let until = now + ttl;
        let make = |id: &str| {
            let options = TaskOptions { ttl, ..options };
            Arc::new(SessionTask::new(id, options, Arc::clone(context.queue())))
        };
        let belongs = Belongs { key: session, owner: context.caller().owner.clone() };
        let Some((task, gone)) = self.0.store.keep(belongs, now, until, make) else {
            return Err(ErrorObject::internal("too many tasks are kept; call again when one has expired"));
        };
        gone.iter().for_each(|oldest| self.gone(oldest));
        if self.0.sessions.view(session).is_none() {
            // It has ended in between, and the task would never be forgotten.
            self.0.store.forget(task.id());
            return Err(ErrorObject::internal("the session is over"));
        }
        let created = task.task().into();
        let call = context.for_task(Arc::clone(&task));
        task.is_run_by(call.canceller());
        let tasks = self.clone();
        context.after_response(move || drop(tokio::spawn(tasks.run(task, call, until, run))));
        Ok(created)
    }

    /// Answers `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`. A server does this for the tasks of a
    /// [`Handler`](crate::Handler::tasks); a service of its own does it here, and registers the tasks with
    /// [`Server::observe`](crate::Server::observe).
    ///
    /// # Errors
    /// −32602 for a task that does not exist or belongs to another session, for a cursor, and for the cancellation of a
    /// task that has ended; the error of the call whose result is asked for; −32601 for any other request.
    pub async fn answer(&self, request: ServerRequest, context: &Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::GetTask(request) => self.find(&request.task_id, context).map(|task| task.task().into()),
            ServerRequest::GetTaskPayload(request) => self.result(&request, context).await,
            ServerRequest::ListTasks(request) => self.list(&request, context).map(Into::into),
            ServerRequest::CancelTask(request) => self.cancel(&request, context).map(Into::into),
            other => Err(ErrorObject::method_not_found(other.method())),
        }
    }

    /// Waits for the end of the task. Until then its questions go to the client together with this request.
    async fn result(&self, request: &GetTaskPayload, context: &Context) -> TaskOutcome {
        let mut answer = self.find(&request.task_id, context)?.outcome(context.key()).await?;
        if let ServerResult::CallTool(result) = &mut answer {
            result.meta = Some(meta::with_related_task(result.meta.as_ref(), &request.task_id));
        }
        Ok(answer)
    }

    /// The tasks of the session, oldest first, on one page.
    fn list(&self, request: &ListTasks, context: &Context) -> Result<ListTasksResult, ErrorObject> {
        match request.cursor.as_deref() {
            None | Some("") => {
                let tasks: Vec<_> = self.0.store.of(&context.session(), now()).iter().map(|task| task.task()).collect();
                Ok(ListTasksResult::of(&tasks))
            }
            Some(cursor) => Err(ErrorObject::invalid_params(format!("invalid cursor {cursor:?}"))),
        }
    }

    fn cancel(&self, request: &CancelTask, context: &Context) -> Result<Task, ErrorObject> {
        let task = self.find(&request.task_id, context)?;
        match self.end_cancelled(&task, TaskState::CANCELLED) {
            Some(call) => {
                call.cancel();
                Ok(task.task())
            }
            None => Err(ErrorObject::invalid_params(format!("the task has ended already: {:?}", request.task_id))),
        }
    }

    async fn run<R, F>(self, task: Arc<SessionTask>, call: Context, until: Instant, run: R)
    where
        R: FnOnce(Context) -> F,
        F: Future<Output = Result<CallToolResult, ErrorObject>> + Send,
    {
        let grace = self.0.sessions.limits().cancel_grace;
        let outcome = {
            let mut work = pin!(catch_unwind(|| run(call.clone())));
            tokio::select! {
                biased;
                outcome = &mut work => Some(outcome),
                () = call.cancelled() => tokio::time::timeout(grace, work).await.ok(),
                () = tokio::time::sleep_until(until.into()) => {
                    call.cancel();
                    tokio::time::timeout(grace, work).await.ok()
                }
            }
        };
        drop(call);
        match outcome {
            Some(Ok(outcome)) => drop(self.end(&task, outcome.map(Into::into))),
            Some(Err(why)) => {
                tracing::error!(task = task.id(), why, "a task panicked");
                drop(self.end(&task, Ok(CallToolResult::error(format!("the tool panicked: {why}")).into())));
            }
            None => drop(self.end_cancelled(&task, "the task was cancelled")),
        }
        tokio::select! {
            () = task.forgotten() => {}
            () = tokio::time::sleep_until(until.into()) => {
                self.0.store.forget(task.id());
            }
        }
    }

    /// Ends a task with the outcome of its call, unless it has ended before.
    fn end(&self, task: &SessionTask, outcome: TaskOutcome) -> Option<Arc<dyn Cancel>> {
        let mut gone = Vec::new();
        let call = task.end(|state, now| {
            if !state.is_running() {
                return false;
            }
            let bytes = ended::weight(&outcome);
            let kept = self.0.store.ended(state.id(), bytes);
            gone = kept.gone;
            let outcome = if kept.is_kept { outcome } else { Ok(overload::result(bytes).into()) };
            state.end(outcome, now)
        });
        for oldest in gone {
            tracing::debug!(task = oldest.id(), "the result of a task is forgotten to make room");
            self.gone(&oldest);
        }
        call
    }

    /// Cancels a task, unless it has ended before. Returns the handle that cancels its call.
    fn end_cancelled(&self, task: &SessionTask, text: &str) -> Option<Arc<dyn Cancel>> {
        let call = task.end(|state, now| state.cancel(Some(text), text, now))?;
        // The text needs no room of its own.
        self.0.store.ended(task.id(), 0);
        Some(call)
    }

    /// Forgets a task. Requests that wait for its result get an error result.
    fn gone(&self, task: &SessionTask) {
        task.forget();
        if let Some(call) = task.end(|state, now| state.cancel(None, "the task is gone", now)) {
            call.cancel();
        }
    }

    fn find(&self, id: &str, context: &Context) -> Result<Arc<SessionTask>, ErrorObject> {
        let found = self.0.store.find(id, &context.session(), now());
        found.ok_or_else(|| ErrorObject::invalid_params(format!("unknown task {id:?}")))
    }
}

impl SessionObserver for Tasks {
    /// Cancels and forgets the tasks of the session.
    fn closed(&self, session: SessionId) {
        for task in self.0.store.close(&session) {
            self.gone(&task);
        }
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

/// The time of the runtime, which tests can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
