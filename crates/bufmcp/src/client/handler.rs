//! A server of proto-mcp behind an MCP server: its tools, resources and prompts, for clients of JSON-RPC.

use std::sync::{Arc, Mutex, PoisonError};

use protomcp_server::{Context, Handler, Limits, ServerInfo};
use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, ErrorObject, GetPrompt, GetPromptResult, ListCapability,
    ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTools, ListToolsResult, Method as _, RawJson, ReadResource, ReadResourceResult,
    ServerCapabilities, Subscribe, Unsubscribe,
};

use crate::client::driver::OnReport;
use crate::client::error::BinaryCallError;
use crate::client::handle::BinaryClient;
use crate::client::status::Changed;
use crate::convert::agreement::may_have_gaps;
use crate::convert::back::{
    call_metadata, contents_from_proto, resource_from_proto, result_from_proto, tool_from_proto,
};
use crate::convert::prompts::{
    complete_to_proto, completion_from_proto, get_to_proto, prompt_from_proto, prompt_result_from_proto,
};
use crate::convert::reports::{level_to_proto, log_from_proto, progress_from_proto};
use crate::convert::resources::template_from_proto;
use crate::fault::Fault;
use crate::message::{CallToolRequest, ListToolsRequest, LogLevel, Tool, tool::SchemaSource};
use crate::metadata::ARGUMENTS_JSON;
use crate::report::CallReport;
use crate::schemas::{SchemaError, ToolSchemas};

/// The handler of an MCP server whose tools, resources and prompts come from a server of proto-mcp.
///
/// Tools are listed with JSON Schemas, arguments become messages, and results become content again. A tool whose schema
/// cannot be had is left out of lists, and the log says why. Progress and log messages of calls reach the clients that want
/// them. A call that its client has cancelled is cancelled at the server after the
/// [grace](protomcp_server::Limits::cancel_grace) of the server in front.
#[derive(Clone)]
pub struct BinaryBackend {
    client: BinaryClient,
    schemas: Arc<dyn ToolSchemas>,
    known: Arc<Mutex<Known>>,
    /// Requests whose conversation has ended wait for the end of their session, which has the reason.
    waits_for_end: bool,
}

/// The tools as they were last listed.
#[derive(Default)]
struct Known {
    tools: Option<Arc<Vec<Tool>>>,
    /// The changes at that time.
    changes: Changed,
}

impl BinaryBackend {
    /// The tools, resources and prompts of the server at the other end of `client`.
    #[must_use]
    pub fn new(client: BinaryClient, schemas: Arc<dyn ToolSchemas>) -> Self {
        Self { client, schemas, known: Arc::default(), waits_for_end: false }
    }

    /// Like [`BinaryBackend::new`], for a session that ends with the conversation: a request whose answer is lost has none.
    pub(super) fn until_closed(client: BinaryClient, schemas: Arc<dyn ToolSchemas>) -> Self {
        Self { waits_for_end: true, ..Self::new(client, schemas) }
    }

    /// The same handler for the caller of a request.
    fn of(&self, context: &Context) -> Self {
        Self { client: self.client.for_caller(context.caller().clone()), ..self.clone() }
    }

    /// The outcome of a request, for clients.
    async fn answered<T>(&self, outcome: Result<T, BinaryCallError>) -> Result<T, ErrorObject> {
        match outcome {
            Err(BinaryCallError::Closed(_)) if self.waits_for_end => std::future::pending().await,
            outcome => outcome.map_err(error),
        }
    }

    async fn tools(&self) -> Result<Arc<Vec<Tool>>, BinaryCallError> {
        let changes = *self.client.changes().borrow();
        let tools = Arc::new(self.resolved().await?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known { tools: Some(Arc::clone(&tools)), changes };
        Ok(tools)
    }

    /// All tools, with references where both sides have registries. Those that cannot be resolved here get the schemas of
    /// the server.
    async fn resolved(&self) -> Result<Vec<Tool>, BinaryCallError> {
        if !self.client.server().capabilities.supports_bsr_refs {
            return self.client.all_tools().await;
        }
        let mut tools = self.client.tools_of(ListToolsRequest::default()).await?;
        let mut unresolved = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            if let Some(SchemaSource::BsrRef(_)) = tool.schema_source
                && let Err(why) = self.schemas.of_proto(tool).await
            {
                tracing::warn!(tool = tool.name, "the schema is the server's, and not the registry's: {why}");
                unresolved.push(index);
            }
        }
        if unresolved.is_empty() {
            return Ok(tools);
        }
        let whole = self.client.all_tools().await?;
        for index in unresolved {
            if let Some(found) = whole.iter().find(|tool| tool.name == tools[index].name) {
                tools[index] = found.clone();
            }
        }
        Ok(tools)
    }

    /// Asks for the reports that the client of a call wants, if the server has them. Returns true if it does.
    fn wants_reports(&self, context: &Context, request: &mut CallToolRequest) -> bool {
        let server = self.client.server().capabilities;
        request.wants_progress = server.supports_streaming && context.progress_token().is_some();
        if let Some(least) = context.log_level().filter(|_| server.supports_logging) {
            request.log_level = level_to_proto(least) as i32;
        }
        request.wants_progress || request.log_level != LogLevel::Unspecified as i32
    }

    /// Checks that the server has prompts. A server without the extension may not answer its messages at all.
    fn check_prompts(&self, method: &'static str) -> Result<(), ErrorObject> {
        let prompts = self.client.server().capabilities.prompts;
        prompts.map(|_| ()).ok_or_else(|| ErrorObject::method_not_found(method))
    }

    /// True if clients may subscribe to resources. Several sessions would end each other's subscriptions, which are the
    /// conversation's, so only a session that has it for itself may.
    fn takes_subscriptions(&self) -> bool {
        let resources = self.client.server().capabilities.resources;
        self.waits_for_end && resources.is_some_and(|resources| resources.supports_subscribe)
    }

    /// The tool with this name; a name that is not known may be new.
    async fn tool(&self, name: &str) -> Result<Tool, ErrorObject> {
        let find = |tools: &[Tool]| tools.iter().find(|tool| tool.name == name).cloned();
        let now = *self.client.changes().borrow();
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.tools.as_ref().filter(|_| known.changes == now).and_then(|tools| find(tools))
        };
        match known {
            Some(tool) => Ok(tool),
            None => find(&self.answered(self.tools().await).await?).ok_or_else(|| ErrorObject::unknown_tool(name)),
        }
    }
}

impl std::fmt::Debug for BinaryBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BinaryBackend").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Handler for BinaryBackend {
    fn info(&self) -> ServerInfo {
        let server = self.client.server();
        let member = |key: &str| server.metadata.get(key).cloned();
        let name = member("name").or_else(|| member("server")).unwrap_or_else(|| "proto-mcp server".to_owned());
        let list = |list_changed| ListCapability { list_changed, subscribe: false };
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = server.capabilities.tools.map(|tools| list(tools.supports_list_changed));
        capabilities.resources = server.capabilities.resources.map(|resources| ListCapability {
            list_changed: resources.supports_list_changed,
            subscribe: self.takes_subscriptions(),
        });
        capabilities.prompts = server.capabilities.prompts.map(|prompts| list(prompts.supports_list_changed));
        capabilities.logging = server.capabilities.supports_logging.then_some(RawJson::EMPTY_OBJECT);
        capabilities.completions = server.capabilities.supports_completion.then_some(RawJson::EMPTY_OBJECT);
        ServerInfo::new(name, member("version").unwrap_or_default()).with_capabilities(capabilities)
    }

    async fn list_tools(&self, _: ListTools, context: Context) -> Result<ListToolsResult, ErrorObject> {
        let this = self.of(&context);
        let mut shown = Vec::new();
        for tool in this.answered(this.tools().await).await?.iter() {
            match self.schemas.of_proto(tool).await {
                Ok(messages) => shown.extend(tool_from_proto(tool, &*messages).map(|tool| tool.to_raw())),
                Err(why) => tracing::warn!(tool = tool.name, "a tool of proto-mcp is left out: {why}"),
            }
        }
        let list = RawJson::of(&shown).map_err(|why| ErrorObject::internal(why.to_string()))?;
        Ok(ListToolsResult::new(list))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let this = self.of(&context);
        let tool = this.tool(&call.name).await?;
        let schema = |why: SchemaError| error(BinaryCallError::Refused(why.into()));
        let messages = this.schemas.of_proto(&tool).await.map_err(schema)?;
        let given = call.arguments_or_empty();
        let arguments = messages.arguments_to_any(&given).await.map_err(schema)?;
        let mut metadata = call_metadata(call.meta.as_ref());
        if may_have_gaps(&given) && !arguments.type_name().starts_with("google.protobuf.") {
            metadata.insert(ARGUMENTS_JSON.to_owned(), given.as_str().to_owned());
        }
        let mut request =
            CallToolRequest { name: call.name, arguments: Some(arguments), metadata, ..CallToolRequest::default() };
        let wants_reports = this.wants_reports(&context, &mut request);
        let on_report = wants_reports.then(|| Box::new(move |report| pass_on(&context, report)) as OnReport);
        let response = this.answered(this.client.call(request, None, on_report).await).await?;
        Ok(result_from_proto(response, &*messages).await)
    }

    async fn list_resources(&self, _: ListResources, context: Context) -> Result<ListResourcesResult, ErrorObject> {
        let this = self.of(&context);
        let all = this.answered(this.client.all_resources().await).await?;
        Ok(ListResourcesResult::of(&all.into_iter().map(resource_from_proto).collect::<Vec<_>>()))
    }

    async fn read_resource(&self, request: ReadResource, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        let this = self.of(&context);
        let response = this.answered(this.client.read_resource(request.uri).await).await?;
        Ok(ReadResourceResult::of(response.contents.into_iter().map(contents_from_proto)))
    }

    async fn list_resource_templates(
        &self,
        _: ListResourceTemplates,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorObject> {
        let resources = self.client.server().capabilities.resources;
        if !resources.is_some_and(|resources| resources.supports_templates) {
            return Err(ErrorObject::method_not_found(ListResourceTemplates::NAME));
        }
        let this = self.of(&context);
        let all = this.answered(this.client.all_templates().await).await?;
        Ok(ListResourceTemplatesResult::of(&all.into_iter().map(template_from_proto).collect::<Vec<_>>()))
    }

    async fn subscribe(&self, request: Subscribe, context: Context) -> Result<(), ErrorObject> {
        let this = self.of(&context);
        this.answered(this.client.subscribe(request.uri).await).await
    }

    async fn unsubscribe(&self, request: Unsubscribe, context: Context) -> Result<(), ErrorObject> {
        let this = self.of(&context);
        this.answered(this.client.unsubscribe(request.uri).await).await
    }

    async fn list_prompts(&self, _: ListPrompts, context: Context) -> Result<ListPromptsResult, ErrorObject> {
        self.check_prompts(ListPrompts::NAME)?;
        let this = self.of(&context);
        let all = this.answered(this.client.all_prompts().await).await?;
        Ok(ListPromptsResult::of(&all.into_iter().map(prompt_from_proto).collect::<Vec<_>>()))
    }

    async fn get_prompt(&self, request: GetPrompt, context: Context) -> Result<GetPromptResult, ErrorObject> {
        self.check_prompts(GetPrompt::NAME)?;
        let this = self.of(&context);
        let response = this.answered(this.client.get_prompt(get_to_proto(request)).await).await?;
        prompt_result_from_proto(response).map_err(|why| error(BinaryCallError::Refused(why)))
    }

    async fn complete(&self, request: Complete, context: Context) -> Result<CompleteResult, ErrorObject> {
        if !self.client.server().capabilities.supports_completion {
            return Err(ErrorObject::method_not_found(Complete::NAME));
        }
        let this = self.of(&context);
        let response = this.answered(this.client.complete(complete_to_proto(request)).await).await?;
        Ok(completion_from_proto(response).into())
    }
}

/// Passes a report of a call on to its client.
fn pass_on(context: &Context, report: CallReport) {
    match report {
        CallReport::Progress(report) => context.progress(&progress_from_proto(report)),
        CallReport::Log(log) => {
            let (level, logger, data) = log_from_proto(log);
            context.log(level, logger.as_deref(), &data);
        }
    }
}

/// An error keeps its code and its data.
fn error(error: BinaryCallError) -> ErrorObject {
    match error {
        BinaryCallError::Refused(Fault { code, message, data }) => {
            let object = ErrorObject::new(code.into(), message);
            if data.is_empty() {
                return object;
            }
            object.with_data(RawJson::of(&data).expect("values of JSON are JSON"))
        }
        BinaryCallError::TooMany => overloaded(),
        other => ErrorObject::internal(other.to_string()),
    }
}

/// A request that was not sent, so it can be sent again.
fn overloaded() -> ErrorObject {
    ErrorObject::overloaded("too many requests wait for the server", "send it again in a moment", Limits::RETRY_AFTER)
}
