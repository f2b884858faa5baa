//! The answers to the requests of a client: schemas, conversions, and requests to the MCP server.

mod lists;
mod prompts;

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use prost::Message;
use protomcp_session::Extensions;
use protomcp_types::{
    CallTool, CallToolResult, JsonBuf, RawJson, ReadResource, Subscribe, Tool, ToolName, Unsubscribe,
};
use tokio::sync::Semaphore;

use crate::code;
use crate::convert::agreement::Agreement;
use crate::convert::resources::contents_to_proto;
use crate::convert::results::{Structured, call_meta, result_to_proto};
use crate::convert::tools::{ToolSource, tool_to_proto};
use crate::cursor::{Cursor, ListDigest};
use crate::fault::Fault;
use crate::message::mcp_message::Payload;
use crate::message::{
    self, CallToolRequest, CallToolResponse, ListToolsRequest, ListToolsResponse, ReadResourceRequest,
    ReadResourceResponse, SubscribeRequest, SubscribeResponse, UnsubscribeRequest,
};
use crate::metadata::ARGUMENTS_JSON;
use crate::schemas::{Imports, ToolMessages};
use crate::selection::{PageBudget, RefFilter, search};
use crate::serve::call_reports::CallReports;
use crate::serve::catalog::{Catalog, Tools};
use crate::serve::mcp::served_method::ServedMethod;
use crate::serve::mcp::{Mcp, Outcome};
use crate::serve::shared::Shared;
use crate::serve::turn::spend;
use crate::session::inbound::{BinaryCall, metadata_weight};
use crate::session::permission::Permission;

/// Answers the requests of one conversation.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) shared: Arc<Shared>,
    pub(super) mcp: Mcp,
    pub(super) catalog: Arc<Catalog>,
    /// Identifies the client for rate limits.
    pub(super) caller: String,
    pub(super) permission: Option<Permission>,
    /// The files that the client wants in descriptor sets.
    pub(super) imports: Imports,
    /// Lists are made one after the other: the memory of a page counts in no budget until it is made.
    pub(super) lists: Arc<Semaphore>,
}

impl Answers {
    /// The same in the conversation, for requests of this bearer of a token.
    pub(super) fn for_bearer(self: &Arc<Self>, known: Extensions) -> Arc<Self> {
        let Some(mcp) = self.mcp.for_bearer(known) else { return Arc::clone(self) };
        Arc::new(Self {
            shared: Arc::clone(&self.shared),
            mcp,
            catalog: Arc::clone(&self.catalog),
            caller: self.caller.clone(),
            permission: self.permission.clone(),
            imports: self.imports,
            lists: Arc::clone(&self.lists),
        })
    }

    /// Answers one request. A panic fails this request alone. `reports`: of a tool call whose client wants reports.
    pub(super) async fn answer(&self, call: BinaryCall, reports: Option<Arc<CallReports>>) -> Result<Payload, Fault> {
        let answer = async {
            self.permission.as_ref().map_or(Ok(()), |permission| permission.check(&call))?;
            // In boxes, since the future of each call would hold them.
            match call {
                BinaryCall::ListTools(request) => {
                    Box::pin(self.list_tools(request)).await.map(Payload::ListToolsResponse)
                }
                BinaryCall::CallTool(request) => {
                    Box::pin(self.call_tool(request, reports)).await.map(Payload::CallToolResponse)
                }
                BinaryCall::ListResources(request) => {
                    Box::pin(self.list_resources(&request)).await.map(Payload::ListResourcesResponse)
                }
                BinaryCall::ReadResource(request) => {
                    Box::pin(self.read_resource(request)).await.map(Payload::ReadResourceResponse)
                }
                BinaryCall::ListPrompts(request) => {
                    Box::pin(self.list_prompts(&request)).await.map(Payload::ListPromptsResponse)
                }
                BinaryCall::GetPrompt(request) => {
                    Box::pin(self.get_prompt(request)).await.map(Payload::GetPromptResponse)
                }
                BinaryCall::Complete(request) => Box::pin(self.complete(request)).await.map(Payload::CompleteResponse),
                BinaryCall::ListTemplates(request) => {
                    Box::pin(self.list_templates(&request)).await.map(Payload::ListTemplatesResponse)
                }
                BinaryCall::Subscribe(SubscribeRequest { uri }) => {
                    Box::pin(self.change_subscription::<Subscribe>(Subscribe::new(uri))).await
                }
                BinaryCall::Unsubscribe(UnsubscribeRequest { uri }) => {
                    Box::pin(self.change_subscription::<Unsubscribe>(Unsubscribe::new(uri))).await
                }
            }
        };
        // A bug of a schema implementation must not end the connection; nothing here is shared half-changed.
        std::panic::AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("answering a request of proto-mcp panicked");
            Err(Fault::new(code::INTERNAL_ERROR, "internal error"))
        })
    }

    async fn list_tools(&self, request: ListToolsRequest) -> Result<ListToolsResponse, Fault> {
        // It is never closed.
        let _turn = self.lists.acquire().await;
        let filter = RefFilter::parse(&request.bsr_refs)?;
        let tools = match (request.cursor.is_empty(), self.catalog.known()) {
            // The first page shows the list as it is now; the others belong to it.
            (false, Some(tools)) => tools,
            (true, Some(tools)) if self.shared.announces_tools => tools,
            _ => self.catalog.fetch(&self.mcp).await?,
        };
        let entries = tools.all.iter().map(|tool| (tool.name.as_str(), description(tool)));
        let order = search(&request.query, entries)?;
        let digest = digest(&tools, &filter, &request.query);
        let start = self.shared.cursors.open(&request.cursor, digest)?;
        let mut budget = PageBudget::new(self.shared.pages, request.page_size);
        let mut page = ListToolsResponse::default();
        for (position, index) in order.iter().enumerate().skip(start as usize) {
            let tool = &tools.all[*index];
            let Some(shown) = self.show(tool, &filter, request.include_schemas).await else { continue };
            let bytes = shown.encoded_len();
            // Other connections have their turn between the entries.
            spend(ENTRY + bytes).await;
            if !budget.takes(bytes) {
                let position = u32::try_from(position).unwrap_or(u32::MAX);
                page.next_cursor = self.shared.cursors.seal(Cursor { list: digest, position });
                break;
            }
            page.tools.push(shown);
        }
        Ok(page)
    }

    /// A tool as the client sees it; `None` if the filter leaves it out.
    async fn show(&self, tool: &Tool, filter: &RefFilter, with_schemas: bool) -> Option<message::Tool> {
        let reference = self.shared.schemas.reference(tool);
        if !filter.matches(reference.as_deref()) {
            return None;
        }
        match (reference, with_schemas) {
            (Some(reference), false) => Some(tool_to_proto(tool, ToolSource::Reference(reference))),
            // A tool that is in no registry always brings its schema.
            (reference, _) => Some(match self.shared.schemas.of_json(tool).await {
                Ok(messages) => tool_to_proto(tool, ToolSource::Inline(&*messages, self.imports)),
                Err(error) => {
                    tracing::warn!(tool = tool.name.as_str(), "no schema for clients of proto-mcp: {error}");
                    tool_to_proto(tool, ToolSource::Failed(reference, &error))
                }
            }),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequest,
        reports: Option<Arc<CallReports>>,
    ) -> Result<CallToolResponse, Fault> {
        let tool = self.tool(&request.name).await?;
        if let Err(wait) = self.shared.check_rate(Instant::now(), &self.caller, &request.name) {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
            let message = format!("too many calls; try again in {wait} ms");
            return Err(Fault::new(code::RATE_LIMITED, message).with("retry_after_ms", wait));
        }
        let messages = self.shared.schemas.of_json(&tool).await?;
        check_type(&*messages, &request)?;
        let CallToolRequest { name, arguments, mut metadata, .. } = request;
        let exact = metadata.remove(ARGUMENTS_JSON);
        let worker = &self.mcp.worker;
        let turn = worker.turn(arguments.as_ref().map_or(0, |arguments| arguments.value.len())).await;
        let json = messages.arguments_to_json(arguments.as_ref()).await?;
        let json = match exact {
            Some(exact) => Box::pin(agreeing(exact, json)).await?,
            None => json,
        };
        // While the tool runs, its arguments are at the server alone, which counts them.
        drop((turn, arguments));
        let meta = worker.run(metadata_weight(&metadata), move || call_meta(&metadata)).await;
        let mut call = CallTool::new(name).with_arguments(json);
        call.meta = meta;
        let Outcome { result, reservation: _reservation } = self.mcp.request_with::<CallTool>(call, reports).await?;
        self.result_to_proto(result, &*messages).await
    }

    async fn result_to_proto(
        &self,
        result: CallToolResult,
        messages: &dyn ToolMessages,
    ) -> Result<CallToolResponse, Fault> {
        let structured = match &result.structured_content {
            Some(structured) => {
                let _turn = self.mcp.worker.turn(structured.len()).await;
                Some(Structured::of(structured, messages).await)
            }
            None => None,
        };
        let bytes = result.content.len() + result.structured_content.as_ref().map_or(0, RawJson::len);
        self.mcp.worker.run(bytes, move || result_to_proto(&result, structured)).await
    }

    /// The definition of a tool. A name that is not known may be new.
    async fn tool(&self, name: &str) -> Result<Arc<Tool>, Fault> {
        if let Some(mut tool) = self.mcp.tool_definition(name)
            && let Ok(name) = ToolName::new(name)
        {
            // The messages belong to the name in lists.
            tool.name = name;
            return Ok(Arc::new(tool));
        }
        let known = self.catalog.known();
        if let Some(tool) = known.as_ref().and_then(|tools| tools.find(name)) {
            return Ok(tool);
        }
        let tools = match known {
            Some(tools) if self.shared.announces_tools => tools,
            _ => Box::pin(self.catalog.fetch(&self.mcp)).await?,
        };
        tools.find(name).ok_or_else(|| {
            Fault::new(code::INVALID_PARAMS, format!("unknown tool {name:?}")).with("reason", "tool_not_found")
        })
    }

    /// Begins or ends a subscription, which the membership keeps.
    async fn change_subscription<M: ServedMethod>(&self, params: M::Params) -> Result<Payload, Fault> {
        self.mcp.request::<M>(params).await.map_err(not_found)?;
        Ok(Payload::SubscribeResponse(SubscribeResponse {}))
    }

    async fn read_resource(&self, request: ReadResourceRequest) -> Result<ReadResourceResponse, Fault> {
        let outcome = self.mcp.request::<ReadResource>(ReadResource::new(request.uri)).await;
        let Outcome { result, reservation: _reservation } = outcome.map_err(not_found)?;
        let bytes = result.contents.iter().map(JsonBuf::len).sum();
        let convert = move || result.contents.iter().map(contents_to_proto).collect::<Result<_, _>>();
        Ok(ReadResourceResponse { contents: self.mcp.worker.run(bytes, convert).await? })
    }
}

/// Servers of MCP use one of two codes for a resource that is not there, version 1.0 the older one.
fn not_found(mut fault: Fault) -> Fault {
    if fault.code == code::INVALID_PARAMS && fault.data.contains_key("uri") {
        fault.code = code::RESOURCE_NOT_FOUND;
    }
    fault
}

/// The exact arguments, which must agree with those that were checked.
async fn agreeing(exact: String, checked: RawJson) -> Result<RawJson, Fault> {
    let agrees = |exact: RawJson| async move {
        let agreement = Agreement::of_any_size(&exact, &checked).await;
        (agreement != Agreement::None).then_some(exact)
    };
    let agreed = match RawJson::parse(exact) {
        Ok(exact) => agrees(exact).await,
        Err(_) => None,
    };
    agreed.ok_or_else(|| {
        let message = format!("metadata[{ARGUMENTS_JSON:?}] does not agree with the arguments");
        Fault::new(code::INVALID_PARAMS, message)
    })
}

/// Only the type of the tool itself counts: a client cannot choose another one.
fn check_type(messages: &dyn ToolMessages, request: &CallToolRequest) -> Result<(), Fault> {
    let expected = &messages.names().input_type;
    match request.arguments.as_ref().map(crate::any::Any::type_name) {
        Some(name) if name != expected => {
            let message = format!("the arguments are of type {name:?}, and the tool takes {expected:?}");
            Err(Fault::new(code::INVALID_PARAMS, message).with("reason", "wrong_type").with("expected", &**expected))
        }
        _ => Ok(()),
    }
}

/// The bytes whose conversion takes as long as finding the schema of a tool.
const ENTRY: usize = 1024;

/// A position holds for one list, one filter and one search.
fn digest(tools: &Tools, filter: &RefFilter, query: &str) -> ListDigest {
    tools.digest.and(filter.texts().iter().map(String::as_str).chain([query]))
}

fn description(tool: &Tool) -> &str {
    tool.description.as_deref().unwrap_or_default()
}
