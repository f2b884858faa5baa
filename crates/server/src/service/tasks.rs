//! Tasks with a session: calls whose request is answered with a task, which the client polls until the call has ended
//! (MCP 2025-11-25, basic/utilities/tasks).
//!
//! A handler holds [`Tasks`] and begins one for a call; the server answers all requests about them. The call runs like
//! any other, with a [`Context`] that belongs to the task: questions, progress and cancellation go through it. A task
//! belongs to the session that began it, and is forgotten with it. Tasks of the stateless revision do not use this
//! file ([`Context::continue_as_task`]).

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_types::{
    CallTool, CallToolResult, CancelTask, CreateTaskResult, ErrorObject, GetTaskPayload, ListTasks, ListTasksResult,
    Method, Task, meta,
};

use crate::call::catch_unwind::catch_unwind;
use crate::call::context::Context;
use crate::call::current_call::within;
use crate::call::kept_tasks::{NewTask, TaskCall, granted_ttl};
use crate::call::session_task::{EndedTask, SessionTask};
use crate::records::cancel::Cancel;
use crate::records::clock::now;
use crate::records::overload;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::service::observer::SessionObserver;
use crate::state::handle::ServerHandle;
use protomcp_session::{Extensions, ServerRequest, ServerResult, SessionId, TaskOptions, TaskOutcome, TaskState};

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
///         self.tasks.begin(&context, call.task_ttl(), TaskOptions::default(), work).await
///     }
///
///     fn tasks(&self) -> Option<&Tasks> {
///         Some(&self.tasks)
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Tasks(ServerHandle);

impl Tasks {
    /// None yet.
    #[must_use]
    pub fn new(sessions: ServerHandle) -> Self {
        Self(sessions)
    }

    /// Answers a call with a task, and runs it in the background once the answer is sent. The
    /// [`TaskStore`](crate::TaskStore) keeps the task before the answer is ready. The context that `run` gets belongs
    /// to the task. `wish`: the milliseconds for which the client requests that the task is kept
    /// ([`CallTool::task_ttl`]). Must be called inside a tokio runtime with timers.
    ///
    /// # Errors
    /// −32603 when the session or its caller has too many tasks, when the store does not answer within 5 seconds, and
    /// when the call is cancelled before; −32601 for a request without a session.
    pub async fn begin<R, F>(
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
        let limits = self.0.limits();
        let ttl = granted_ttl(wish.map_or(options.ttl, Duration::from_millis), &limits.tasks);
        let (now, session) = (now(), context.session());
        let new = NewTask {
            key: self.key(session),
            owner: context.caller().owner.clone(),
            options: TaskOptions { ttl, ..options },
            known: Extensions::default(),
        };
        let make = |state: &TaskState, writer| {
            let task = Arc::new(SessionTask::new(state.clone(), writer, Arc::clone(context.queue())));
            (Arc::clone(&task), TaskCall::Session(task))
        };
        let task = match self.0.keep_task(new, now, make) {
            Some(pending) => tokio::select! {
                biased;
                task = pending => task,
                () = context.cancelled() => return Err(ErrorObject::internal("the call was cancelled")),
            },
            None => Ok(None),
        };
        if self.0.view(session).is_none() {
            // It has ended in between, and the task would never be forgotten.
            if let Ok(Some(task)) = &task {
                self.0.tasks().forget(task.id());
            }
            return Err(ErrorObject::internal("the session is over"));
        }
        let task = task
            .map_err(|_| overload::no_task_store())?
            .ok_or_else(|| ErrorObject::internal("too many tasks are kept; call again when one has expired"))?;
        let created = task.task().into();
        let outlet = Arc::clone(&task);
        let call = context.through(outlet);
        task.is_run_by(call.canceller());
        let tasks = self.clone();
        context.after_response(move || drop(tokio::spawn(tasks.run(task, call, now + ttl, run))));
        Ok(created)
    }

    /// Answers `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`. A server does this for the tasks of a
    /// [`Handler`](crate::Handler::tasks); a separate service does it here, and registers the tasks with
    /// [`Server::observe`](crate::Server::observe).
    ///
    /// # Errors
    /// −32602 for a task that does not exist or belongs to another session, for a cursor, and for the cancellation of a
    /// task that has ended; the error of the call whose result is asked for; −32601 for any other request.
    pub async fn answer(&self, request: ServerRequest, context: &Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::GetTask(request) => self.get(&request.task_id, context).await.map(Into::into),
            ServerRequest::GetTaskPayload(request) => self.result(&request, context).await,
            ServerRequest::ListTasks(request) => self.list(&request, context).await.map(Into::into),
            ServerRequest::CancelTask(request) => self.cancel(&request, context).await.map(Into::into),
            other => Err(ErrorObject::method_not_found(other.method())),
        }
    }

    async fn get(&self, id: &str, context: &Context) -> Result<Task, ErrorObject> {
        match self.running(id, context) {
            Some(task) => Ok(task.task()),
            None => Ok(self.find(id, context).await?.task()),
        }
    }

    /// Waits for the end of the task. Until then its questions go to the client together with this request.
    async fn result(&self, request: &GetTaskPayload, context: &Context) -> TaskOutcome {
        let id = &request.task_id;
        let outcome = match self.running(id, context) {
            Some(task) => task.outcome(context.key()).await,
            None => self.find(id, context).await?.state.outcome().cloned().ok_or_else(|| unknown(id))?,
        };
        let mut answer = outcome?;
        if let ServerResult::CallTool(result) = &mut answer {
            result.meta = Some(meta::with_related_task(result.meta.as_ref(), id));
        }
        Ok(answer)
    }

    /// The tasks of the session, oldest first, on one page.
    async fn list(&self, request: &ListTasks, context: &Context) -> Result<ListTasksResult, ErrorObject> {
        match request.cursor.as_deref() {
            None | Some("") => {
                let records = self.0.tasks().list(&self.key(context.session())).await;
                let records = records.map_err(|_| overload::no_task_store())?;
                let now_or_kept = |record: &TaskRecord| {
                    self.running(record.id(), context).map_or_else(|| record.task(), |task| task.task())
                };
                Ok(ListTasksResult::of(&records.iter().map(now_or_kept).collect::<Vec<_>>()))
            }
            Some(cursor) => Err(ErrorObject::invalid_cursor(cursor)),
        }
    }

    async fn cancel(&self, request: &CancelTask, context: &Context) -> Result<Task, ErrorObject> {
        if let Some(task) = self.running(&request.task_id, context) {
            if let Some(call) = self.settle(&task, task.cancel(TaskState::CANCELLED)) {
                call.cancel();
                return Ok(task.task());
            }
        } else {
            self.find(&request.task_id, context).await?;
        }
        Err(ErrorObject::invalid_params(format!("the task has ended already: {:?}", request.task_id)))
    }

    async fn run<R, F>(self, task: Arc<SessionTask>, call: Context, until: Instant, run: R)
    where
        R: FnOnce(Context) -> F,
        F: Future<Output = Result<CallToolResult, ErrorObject>> + Send,
    {
        let grace = self.0.limits().cancel_grace;
        let outcome = {
            let mut work = pin!(catch_unwind(|| within(call.clone(), run(call.clone()))));
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
            Some(Ok(outcome)) => drop(self.settle(&task, task.end(&outcome.map(Into::into)))),
            Some(Err(why)) => {
                tracing::error!(task = task.id(), why, "a task panicked");
                let result = CallToolResult::error(format!("the tool panicked: {why}"));
                drop(self.settle(&task, task.end(&Ok(result.into()))));
            }
            None => drop(self.settle(&task, task.cancel("the task was cancelled"))),
        }
    }

    /// The task has ended: its record is all that is kept, and others may have made room for it. Returns the handle
    /// that cancels its call.
    fn settle(&self, task: &SessionTask, ended: Option<EndedTask>) -> Option<Arc<dyn Cancel>> {
        let EndedTask { call, evicted } = ended?;
        self.0.tasks().ended(task.id());
        self.0.tasks().evict(&evicted);
        call
    }

    /// A task of the session that runs, or has just ended.
    fn running(&self, id: &str, context: &Context) -> Option<Arc<SessionTask>> {
        match self.0.tasks().call(id, &self.key(context.session()), now())? {
            TaskCall::Session(task) => Some(task),
            TaskCall::Stateless(_) => None,
        }
    }

    /// The record of a task of the session that has ended.
    async fn find(&self, id: &str, context: &Context) -> Result<TaskRecord, ErrorObject> {
        let found = self.0.tasks().find(id, self.key(context.session())).await;
        found.map_err(|_| overload::no_task_store())?.ok_or_else(|| unknown(id))
    }

    fn key(&self, session: SessionId) -> TaskKey {
        TaskKey::Session(self.0.node().clone(), session)
    }
}

impl SessionObserver for Tasks {
    /// Cancels and forgets the tasks of the session.
    fn closed(&self, session: SessionId) {
        self.0.tasks().close(&self.key(session));
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

fn unknown(id: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown task {id:?}"))
}
