//! A tool in a registry: its service, and its use of tasks.

use protomcp_server::{Context, ServerRequest, ServerResult, Service, TaskOptions, Tasks};
use protomcp_types::{CallTool, CallToolResult, CreateTaskResult, ErrorObject, TaskSupport};

use crate::tool::service::ToolService;

/// The use of tasks by the calls of a tool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AsTask {
    pub(crate) support: TaskSupport,
    pub(crate) terms: TaskOptions,
    /// A stateless call becomes a task only when its handler requests it.
    pub(crate) on_demand: bool,
}

/// One tool.
#[derive(Debug)]
pub struct Entry {
    pub(crate) service: ToolService,
    pub(crate) tasks: AsTask,
    /// Not seen until it is enabled.
    pub(crate) is_hidden: bool,
}

impl Entry {
    /// Answers a call with its result, or without a session with a task.
    pub(crate) async fn call(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let AsTask { support, terms, on_demand } = self.tasks;
        let is_task = match support {
            TaskSupport::Forbidden => false,
            TaskSupport::Optional | TaskSupport::Required if on_demand => context.can_be_task(),
            TaskSupport::Optional | TaskSupport::Required => context.continue_as_task(terms),
        };
        if support == TaskSupport::Required && !is_task {
            return Err(context.task_required_error(&call.name));
        }
        run(&self.service, call, context).await
    }

    /// Answers a call with a task, as its client requested.
    pub(crate) async fn begin(
        &self,
        tasks: &Tasks,
        call: CallTool,
        context: &Context,
    ) -> Result<CreateTaskResult, ErrorObject> {
        if self.tasks.support == TaskSupport::Forbidden {
            return Err(ErrorObject::method_not_found(&format!("tools/call of {:?} as a task", call.name)));
        }
        let service = self.service.clone();
        tasks
            .begin(context, call.task_ttl(), self.tasks.terms, async move |context: Context| {
                run(&service, CallTool { task: None, ..call }, context).await
            })
            .await
    }
}

async fn run(service: &ToolService, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
    match service.call(ServerRequest::CallTool(call), context).await? {
        ServerResult::CallTool(result) => Ok(result),
        other => {
            tracing::error!(?other, "a layer of a tool answers with something else");
            Err(ErrorObject::internal("the tool has answered with something else"))
        }
    }
}
