//! Answers clients from the tool process: the MCP server's handler.

mod catalog;

use std::sync::Arc;

use protomcp_server::{Context, Handler, ServerInfo, SessionId, Tasks};
use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, CreateTaskResult, ErrorObject, GetPrompt, GetPromptResult,
    Level, ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTools, ListToolsResult, RawJson, ReadResource, ReadResourceResult, Reference, Subscribe,
    TaskSupport, Unsubscribe,
};

use crate::call::{Calls, TASK_TERMS};
use crate::catalog::resources_and_prompts::Kind;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::tool::Tool;
use crate::diagnostics::failure::Failure;
use crate::diagnostics::report::not_started;
use crate::handler::catalog::{RESOURCES, unless_cancelled};
use crate::pool::{Pool, Route};

/// The parts that every request uses.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) info: ServerInfo,
    pub(crate) pool: Pool,
    pub(crate) tasks: Tasks,
}

impl Handler for Backend {
    fn info(&self) -> ServerInfo {
        self.info.clone()
    }

    async fn list_tools(&self, request: ListTools, context: Context) -> Result<ListToolsResult, ErrorObject> {
        let lists = self.pool.lists(context.session());
        lists.started().await?;
        let snapshot = lists.snapshot.load();
        let page = snapshot.view(context.session()).page(request.cursor.as_deref())?;
        if page.items.as_str() == "[]"
            && let Some(why) = self.pool.unstarted(lists)
        {
            // The message of the failed start came before the handshake of this client, or has reached it already.
            context.log(Level::Error, Some("pmcp"), &RawJson::text(&not_started(&why)));
        }
        Ok(ListToolsResult { tools: page.items, next_cursor: page.next, meta: None })
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let route = tokio::select! {
            biased;
            () = context.cancelled() => return self.failed(Failure::ShuttingDown, &context),
            route = self.pool.route(&context, &[], has_tool(&call.name)) => route?,
        };
        let tool = self.find(&route, &call.name, &context)?;
        if tool.task_support() == TaskSupport::Required && !context.can_be_task() {
            return Err(context.task_required_error(&call.name));
        }
        match call_tool(&route.worker.calls, &tool, call, &context).await {
            Ok(result) => Ok(result),
            Err(failure) => self.failed(failure, &context),
        }
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        let route = self.pool.route(&context, &[], has_tool(&call.name)).await?;
        let tool = self.find(&route, &call.name, &context)?;
        if tool.task_support() == TaskSupport::Forbidden {
            return Err(ErrorObject::method_not_found(&format!("tools/call of \"{}\" as a task", call.name)));
        }
        let calls = Arc::clone(&route.worker.calls);
        self.tasks
            .begin(&context, call.task_ttl(), TASK_TERMS, async move |context: Context| {
                Ok(call_tool(&calls, &tool, call, &context)
                    .await
                    .unwrap_or_else(|failure| failure.into_result(calls.settings)))
            })
            .await
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.tasks)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        Some(self.pool.first().snapshot.load().view(SessionId::STATELESS).find(tool)?.json().clone())
    }

    async fn list_resources(
        &self,
        request: ListResources,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorObject> {
        let lists = self.pool.lists(context.session());
        let page = unless_cancelled(&context, lists.list(Kind::Resources, request.cursor.as_deref())).await?;
        Ok(ListResourcesResult { resources: page.items, next_cursor: page.next, meta: None })
    }

    async fn list_resource_templates(
        &self,
        request: ListResourceTemplates,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorObject> {
        let lists = self.pool.lists(context.session());
        let page = unless_cancelled(&context, lists.list(Kind::Templates, request.cursor.as_deref())).await?;
        Ok(ListResourceTemplatesResult { resource_templates: page.items, next_cursor: page.next, meta: None })
    }

    async fn read_resource(&self, read: ReadResource, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        let knows = |snapshot: &Snapshot| snapshot.catalog().media_type(&read.uri).is_some();
        let route = unless_cancelled(&context, self.pool.route(&context, &RESOURCES, knows)).await?;
        unless_cancelled(&context, route.worker.read(read, &context)).await
    }

    /// The session stores the subscription.
    async fn subscribe(&self, subscribe: Subscribe, context: Context) -> Result<(), ErrorObject> {
        let lists = self.pool.lists(context.session());
        unless_cancelled(&context, lists.media_type(&subscribe.uri)).await.map(|_| ())
    }

    async fn unsubscribe(&self, _: Unsubscribe, _: Context) -> Result<(), ErrorObject> {
        Ok(())
    }

    async fn list_prompts(&self, request: ListPrompts, context: Context) -> Result<ListPromptsResult, ErrorObject> {
        let lists = self.pool.lists(context.session());
        let page = unless_cancelled(&context, lists.list(Kind::Prompts, request.cursor.as_deref())).await?;
        Ok(ListPromptsResult { prompts: page.items, next_cursor: page.next, meta: None })
    }

    async fn get_prompt(&self, get: GetPrompt, context: Context) -> Result<GetPromptResult, ErrorObject> {
        let knows = |snapshot: &Snapshot| snapshot.catalog().prompt(&get.name).is_some();
        let route = unless_cancelled(&context, self.pool.route(&context, &[Kind::Prompts], knows)).await?;
        unless_cancelled(&context, route.worker.prompt(get, &context)).await
    }

    async fn complete(&self, complete: Complete, context: Context) -> Result<CompleteResult, ErrorObject> {
        let knows = |snapshot: &Snapshot| match &complete.reference {
            Reference::Prompt { name } => snapshot.catalog().prompt(name).is_some(),
            Reference::Resource { uri } => snapshot.catalog().has_template_or_uri(uri),
        };
        let lists: &[Kind] = match &complete.reference {
            Reference::Prompt { .. } => &[Kind::Prompts],
            Reference::Resource { .. } => &RESOURCES,
        };
        let route = unless_cancelled(&context, self.pool.route(&context, lists, knows)).await?;
        unless_cancelled(&context, route.worker.completion(complete, &context)).await
    }

    fn session_closed(&self, session: SessionId) {
        for worker in self.pool.forget(session) {
            // A bridge that has ended keeps no state of the session.
            let _ended = worker.ended.send(session);
        }
    }
}

impl Backend {
    /// The tool of a call as its client sees it, and if that has just changed, as the worker has it. An unknown one may be of
    /// a version that did not start.
    fn find(&self, route: &Route<'_>, name: &str, context: &Context) -> Result<Arc<Tool>, ErrorObject> {
        let session = context.session();
        let found = self.pool.lists(session).find(name, session).or_else(|_| route.worker.find(name, session));
        found.map_err(|unknown| match self.pool.unstarted(route.worker) {
            Some(why) => {
                let unknown = unknown.message;
                ErrorObject::invalid_params(format!("{unknown}; the newest version of the file did not start: {why}"))
            }
            None => unknown,
        })
    }

    /// The answer to a call that has failed.
    fn failed(&self, failure: Failure, context: &Context) -> Result<CallToolResult, ErrorObject> {
        // MCP 2026-07-28, extension tasks: a task that could not be carried out has failed; one that has a result, even
        // one with `isError`, is completed.
        let settings = self.pool.first().calls.settings;
        let is_error = context.is_task() || matches!(failure, Failure::UnknownTool { .. });
        if is_error { Err(failure.into_error(settings)) } else { Ok(failure.into_result(settings)) }
    }
}

fn has_tool(name: &str) -> impl Fn(&Snapshot) -> bool {
    move |snapshot| snapshot.view(SessionId::STATELESS).find(name).is_some()
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
