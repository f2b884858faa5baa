//! Answers hosts from the tool process: the MCP server's handler.

mod catalog;

use std::sync::Arc;

use arc_swap::ArcSwap;
use protomcp_link::Progress as LinkProgress;
use protomcp_mcp::{Context, Handler, ServerInfo, SessionId};
use protomcp_types::{
    Amount, CallTool, CallToolResult, CancelTask, Complete, CompleteResult, CreateTaskResult, ErrorObject, GetPrompt,
    GetPromptResult, GetTask, GetTaskPayload, ListPrompts, ListPromptsResult, ListResourceTemplates,
    ListResourceTemplatesResult, ListResources, ListResourcesResult, ListTasks, ListTasksResult, ListTools,
    ListToolsResult, Progress, ReadResource, ReadResourceResult, Subscribe, Task, Unsubscribe,
};
use tokio::sync::{SetOnce, mpsc};

use crate::callers::Caller;
use crate::calls::{Calls, Report};
use crate::catalog::Kind;
use crate::failure::Failure;
use crate::snapshot::Snapshot;
use crate::tasks::Tasks;
use crate::tool::Tool;

/// What every request needs.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) info: ServerInfo,
    pub(crate) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) tasks: Arc<Tasks>,
    /// Set when the first start has ended: hosts are served from the beginning, and wait here for the tools.
    pub(crate) started: Arc<SetOnce<Result<(), String>>>,
    /// Is told of each session that has ended.
    pub(crate) ended: mpsc::UnboundedSender<SessionId>,
}

impl Handler for Backend {
    fn info(&self) -> ServerInfo {
        self.info.clone()
    }

    async fn list_tools(&self, request: ListTools, context: Context) -> Result<ListToolsResult, ErrorObject> {
        self.started().await?;
        let snapshot = self.snapshot.load();
        let page = snapshot.view(context.session()).page(request.cursor.as_deref())?;
        Ok(ListToolsResult { tools: page.items, next_cursor: page.next, meta: None })
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        self.started().await?;
        let tool = self.find(&call.name, context.session())?;
        let outcome = tokio::select! {
            biased;
            // Dropping the call takes it out of the queue, or sends a cancel to the process.
            () = context.cancelled() => Err(Failure::ShuttingDown),
            outcome = self.calls.call(&tool, call, Caller::Request(context.clone()), report_to(&context), None) => outcome,
        };
        Ok(outcome.unwrap_or_else(Failure::into_result))
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        self.started().await?;
        let tool = self.find(&call.name, context.session())?;
        if !tool.can_be_task() {
            return Err(ErrorObject::method_not_found(&format!("tools/call of \"{}\" as a task", call.name)));
        }
        let begun = self.tasks.begin(context.session(), call.task_ttl())?;
        let created = begun.task.clone().into();
        let token = context.progress_token().cloned();
        let (tasks, calls) = (Arc::clone(&self.tasks), Arc::clone(&self.calls));
        tokio::spawn(tasks.run(calls, tool, call, context.session(), token, begun));
        Ok(created)
    }

    async fn get_task(&self, request: GetTask, context: Context) -> Result<Task, ErrorObject> {
        self.tasks.find(context.session(), &request.task_id).map(|(task, _)| task)
    }

    async fn task_result(&self, request: GetTaskPayload, context: Context) -> Result<CallToolResult, ErrorObject> {
        let (_, outcome) = self.tasks.find(context.session(), &request.task_id)?;
        Ok(outcome.wait().await.clone())
    }

    async fn list_tasks(&self, request: ListTasks, context: Context) -> Result<ListTasksResult, ErrorObject> {
        // There is one page.
        match request.cursor.as_deref() {
            None | Some("") => Ok(ListTasksResult::of(&self.tasks.of(context.session()))),
            Some(cursor) => Err(ErrorObject::invalid_params(format!("invalid cursor \"{cursor}\""))),
        }
    }

    async fn cancel_task(&self, request: CancelTask, context: Context) -> Result<Task, ErrorObject> {
        self.tasks.cancel(context.session(), &request.task_id)
    }

    async fn list_resources(&self, request: ListResources, _: Context) -> Result<ListResourcesResult, ErrorObject> {
        let page = self.list(Kind::Resources, request.cursor.as_deref()).await?;
        Ok(ListResourcesResult { resources: page.items, next_cursor: page.next, meta: None })
    }

    async fn list_resource_templates(
        &self,
        request: ListResourceTemplates,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorObject> {
        let page = self.list(Kind::Templates, request.cursor.as_deref()).await?;
        Ok(ListResourceTemplatesResult { resource_templates: page.items, next_cursor: page.next, meta: None })
    }

    async fn read_resource(&self, read: ReadResource, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        self.read(read, &context).await
    }

    /// The session keeps the subscription.
    async fn subscribe(&self, subscribe: Subscribe, _: Context) -> Result<(), ErrorObject> {
        self.media_type(&subscribe.uri).await.map(|_| ())
    }

    async fn unsubscribe(&self, _: Unsubscribe, _: Context) -> Result<(), ErrorObject> {
        Ok(())
    }

    async fn list_prompts(&self, request: ListPrompts, _: Context) -> Result<ListPromptsResult, ErrorObject> {
        let page = self.list(Kind::Prompts, request.cursor.as_deref()).await?;
        Ok(ListPromptsResult { prompts: page.items, next_cursor: page.next, meta: None })
    }

    async fn get_prompt(&self, get: GetPrompt, context: Context) -> Result<GetPromptResult, ErrorObject> {
        self.prompt(get, &context).await
    }

    async fn complete(&self, complete: Complete, context: Context) -> Result<CompleteResult, ErrorObject> {
        self.completion(complete, &context).await
    }

    fn session_closed(&self, session: SessionId) {
        self.tasks.close(session);
        // A bridge that has ended remembers nothing of it.
        let _ended = self.ended.send(session);
    }
}

impl Backend {
    /// Waits until there is a list.
    async fn started(&self) -> Result<(), ErrorObject> {
        let outcome = match self.started.get() {
            Some(outcome) => outcome,
            None => self.started.wait().await,
        };
        outcome.as_ref().map_err(|why| ErrorObject::internal(why.clone())).copied()
    }

    /// The tool as this session sees it: what it does not see does not exist.
    fn find(&self, name: &str, session: SessionId) -> Result<Arc<Tool>, ErrorObject> {
        let snapshot = self.snapshot.load();
        snapshot.view(session).find(name).cloned().ok_or_else(|| ErrorObject::unknown_tool(name))
    }
}

/// Someone listens to progress only if the host gave a token.
fn report_to(context: &Context) -> Option<Report> {
    context.progress_token()?;
    let context = context.clone();
    Some(Arc::new(move |progress| context.progress(&convert(progress))))
}

/// A total of 0 or less and an empty message mean that there is none (wire contract §4.4).
pub(crate) fn convert(progress: LinkProgress) -> Progress {
    let LinkProgress { progress, total, message } = progress;
    Progress {
        progress: Amount::from(progress),
        total: (total > 0).then(|| Amount::from(total)),
        message: (!message.is_empty()).then_some(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_what_is_known_and_no_more() {
        for (total, message, told) in [
            (0, "", Progress::new(3)),
            (-1, "", Progress::new(3)),
            (9, "a third", Progress::new(3).of(9).with_message("a third")),
        ] {
            assert_eq!(convert(LinkProgress { progress: 3, total, message: message.into() }), told);
        }
    }
}
