//! Calls of tools, as they are and as tasks.

use std::sync::Arc;
use std::time::Duration;

use protomcp_server::{Context, ServerRequest, ServerResult, TaskOptions};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, JsonObject, TaskSupport};

use crate::failure::Failure;
use crate::inner::Inner;
use crate::list::{ListKind, ServerList};
use crate::listing::listed;
use crate::relay::TaskWish;
use crate::translate;
use crate::upstream_session::UpstreamSession;

impl Inner {
    /// Calls a tool. A failure of its server is a result with `isError`.
    ///
    /// # Errors
    /// The server's, and −32602 for a name of no server.
    pub(crate) async fn call_tool(&self, call: CallTool, context: Context) -> Result<ServerResult, ErrorObject> {
        let Some((pool, name)) = self.route(&call.name) else { return Err(ErrorObject::unknown_tool(&call.name)) };
        let mut lease = match pool.lease(&context).await {
            Ok(lease) => lease,
            Err(failure) => return failed(failure),
        };
        let wish = match self.task_wish(lease.session(), name, &call, &context).await {
            Ok(wish) => wish,
            Err(failure) => return failed(failure),
        };
        if wish == TaskWish::Refused {
            return Err(context.task_required_error(&call.name));
        }
        let request = CallTool { name: name.to_owned(), task: None, ..call };
        match self.relay(&mut lease, &context, ServerRequest::CallTool(request), wish).await {
            Ok(answer) => translate::tool_result(&answer.raw),
            Err(failure) => failed(failure),
        }
    }

    /// Begins a task for a call, if the tool can be one.
    ///
    /// # Errors
    /// −32601 for other tools; otherwise the errors of [`Tasks::begin`](protomcp_server::Tasks::begin).
    pub(crate) async fn begin_task(
        self: &Arc<Self>,
        call: CallTool,
        context: Context,
    ) -> Result<ServerResult, ErrorObject> {
        let Some((pool, name)) = self.route(&call.name) else { return Err(ErrorObject::unknown_tool(&call.name)) };
        let upstream = pool.session_of(&context).map_err(Failure::into_error)?;
        if self.task_support(&upstream, name).await.map_err(Failure::into_error)? == TaskSupport::Forbidden {
            return Err(ErrorObject::method_not_found(&format!("tools/call of {:?} as a task", call.name)));
        }
        let (this, ttl) = (Arc::clone(self), call.task_ttl());
        let run = move |context: Context| async move {
            match this.call_tool(call, context).await? {
                ServerResult::CallTool(result) => Ok(result),
                ServerResult::Body(body) => body.into_raw().to::<CallToolResult>().map_err(|error| {
                    ErrorObject::internal(format!("the result of the server cannot be read: {error}"))
                }),
                other => Err(ErrorObject::internal(format!("an unexpected result: {other:?}"))),
            }
        };
        self.tasks.begin(&context, ttl, TaskOptions::default(), run).await.map(Into::into)
    }

    /// The wish for a task at the server: of tools that have to be tasks, and of those that can be for clients without a
    /// session, which leave that to the server.
    async fn task_wish(
        &self,
        upstream: &Arc<UpstreamSession>,
        name: &str,
        call: &CallTool,
        context: &Context,
    ) -> Result<TaskWish, Failure> {
        if !context.is_task() && !context.is_stateless() {
            return Ok(TaskWish::None);
        }
        let (upstream, session) = &upstream.enter().await?;
        let server = session.server();
        let tasks = server.capabilities.as_ref().and_then(|capabilities| capabilities.tasks);
        if !server.version.has_tasks() || !tasks.is_some_and(|tasks| tasks.has_tool_calls()) {
            return Ok(TaskWish::None);
        }
        let task = TaskWish::Task(call.task_ttl().map(Duration::from_millis));
        Ok(match self.task_support(upstream, name).await? {
            TaskSupport::Required if context.can_be_task() => task,
            TaskSupport::Required => TaskWish::Refused,
            TaskSupport::Optional if context.is_stateless() && context.can_be_task() => task,
            TaskSupport::Optional | TaskSupport::Forbidden => TaskWish::None,
        })
    }

    /// The support for tasks of a tool, as its server has listed it.
    async fn task_support(&self, upstream: &Arc<UpstreamSession>, name: &str) -> Result<TaskSupport, Failure> {
        if let Some(list) = upstream.known().list(ListKind::Tools) {
            return Ok(support(list, name));
        }
        Ok(listed(upstream, ListKind::Tools).await?.map(|list| support(&list, name)).unwrap_or_default())
    }
}

fn support(tools: &ServerList, name: &str) -> TaskSupport {
    let definition = tools.element(name).and_then(|definition| JsonObject::from_raw(definition).ok());
    TaskSupport::of(definition.and_then(|mut definition| definition.take("execution")).as_ref())
}

/// The answer to a call whose server has refused it or has not answered.
fn failed(failure: Failure) -> Result<ServerResult, ErrorObject> {
    match failure.refusal() {
        Some(refusal) => Err(refusal.clone()),
        None => Ok(failure.into_result().into()),
    }
}
