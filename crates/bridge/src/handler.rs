//! Answers clients from the tool process: the MCP server's handler.

mod catalog;

use std::sync::Arc;

use arc_swap::ArcSwap;
use protomcp_server::{Context, Handler, ServerInfo, SessionId, Tasks};
use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, CreateTaskResult, ErrorObject, GetPrompt, GetPromptResult,
    ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTools, ListToolsResult, RawJson, ReadResource, ReadResourceResult, Subscribe, TaskSupport,
    Unsubscribe,
};
use tokio::sync::{SetOnce, mpsc};

use crate::call::{Calls, TASK_TERMS};
use crate::catalog::resources_and_prompts::Kind;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::tool::Tool;
use crate::diagnostics::failure::Failure;

/// The parts that every request uses.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) info: ServerInfo,
    pub(crate) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) tasks: Tasks,
    /// Set when the first start has ended: clients are served from the beginning, and wait here for the tools.
    pub(crate) started: Arc<SetOnce<Result<(), String>>>,
    /// Notified of each session that has ended.
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
        tokio::select! {
            biased;
            () = context.cancelled() => return self.failed(Failure::ShuttingDown, &context),
            started = self.started() => started?,
        }
        let tool = self.find(&call.name, context.session())?;
        if tool.task_support() == TaskSupport::Required && !context.can_be_task() {
            return Err(context.task_required_error(&call.name));
        }
        match call_tool(&self.calls, &tool, call, &context).await {
            Ok(result) => Ok(result),
            Err(failure) => self.failed(failure, &context),
        }
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        self.started().await?;
        let tool = self.find(&call.name, context.session())?;
        if tool.task_support() == TaskSupport::Forbidden {
            return Err(ErrorObject::method_not_found(&format!("tools/call of \"{}\" as a task", call.name)));
        }
        let calls = Arc::clone(&self.calls);
        self.tasks.begin(&context, call.task_ttl(), TASK_TERMS, async move |context: Context| {
            Ok(call_tool(&calls, &tool, call, &context)
                .await
                .unwrap_or_else(|failure| failure.into_result(calls.settings)))
        })
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.tasks)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        Some(self.snapshot.load().view(SessionId::STATELESS).find(tool)?.json().clone())
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

    /// The session stores the subscription.
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
        // A bridge that has ended keeps no state of the session.
        let _ended = self.ended.send(session);
    }
}

impl Backend {
    /// Waits for the first list.
    async fn started(&self) -> Result<(), ErrorObject> {
        let outcome = match self.started.get() {
            Some(outcome) => outcome,
            None => self.started.wait().await,
        };
        outcome.as_ref().map_err(|why| ErrorObject::internal(why.clone())).copied()
    }

    /// The answer to a call that has failed.
    fn failed(&self, failure: Failure, context: &Context) -> Result<CallToolResult, ErrorObject> {
        // MCP 2026-07-28, extension tasks: a task that could not be carried out has failed; one that has a result, even
        // one with `isError`, is completed.
        match context.is_task() {
            true => Err(failure.into_error(self.calls.settings)),
            false => Ok(failure.into_result(self.calls.settings)),
        }
    }

    /// The tool as this session sees it: a hidden tool does not exist.
    fn find(&self, name: &str, session: SessionId) -> Result<Arc<Tool>, ErrorObject> {
        let snapshot = self.snapshot.load();
        snapshot.view(session).find(name).cloned().ok_or_else(|| ErrorObject::unknown_tool(name))
    }
}

/// Makes a call, unless its client has cancelled it.
async fn call_tool(calls: &Calls, tool: &Tool, call: CallTool, context: &Context) -> Result<CallToolResult, Failure> {
    tokio::select! {
        biased;
        // Dropping the call removes it from the queue, or sends a cancel to the process.
        () = context.cancelled() => Err(Failure::ShuttingDown),
        outcome = calls.call(tool, call, context) => outcome,
    }
}
