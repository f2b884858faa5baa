//! Answers hosts from the tool process: the MCP server's handler.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use protomcp_link::{CallError, Options, Progress as LinkProgress};
use protomcp_mcp::{Context, Handler, ServerInfo, SessionId};
use protomcp_proto::{CallAnswer, CallToolRequest, CallToolResponse};
use protomcp_types::{Amount, CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Progress, RawJson};
use tokio::sync::{SetOnce, mpsc, oneshot};

use crate::callers::Caller;
use crate::control;
use crate::convert::result;
use crate::core::Input;
use crate::failure::Failure;
use crate::gate::{Gate, Permit};
use crate::live::Live;
use crate::report::Told;
use crate::run::Sent;
use crate::snapshot::Snapshot;
use crate::tool::Tool;

/// What every call needs.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) info: ServerInfo,
    pub(crate) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) inputs: mpsc::Sender<Sent>,
    /// Set when the first start has ended: hosts are served from the beginning, and wait here for the tools.
    pub(crate) started: Arc<SetOnce<Result<(), String>>>,
    pub(crate) call_timeout: Duration,
}

impl Handler for Backend {
    fn info(&self) -> ServerInfo {
        self.info.clone()
    }

    async fn list_tools(&self, request: ListTools, context: Context) -> Result<ListToolsResult, ErrorObject> {
        self.started().await?;
        let snapshot = self.snapshot.load();
        let page = snapshot.view(context.session()).page(request.cursor.as_deref())?;
        Ok(ListToolsResult { tools: page.tools, next_cursor: page.next, meta: None })
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        self.started().await?;
        let tool = self.find(&call.name, context.session())?;
        let outcome = tokio::select! {
            biased;
            // Dropping the call takes it out of the queue, or sends a cancel to the process.
            () = context.cancelled() => Err(Failure::ShuttingDown),
            outcome = self.call(&tool, call, &context) => outcome,
        };
        Ok(outcome.unwrap_or_else(Failure::into_result))
    }

    fn session_closed(&self, session: SessionId) {
        // Without an overlay there is nothing to forget; a full queue only keeps one until the next reload.
        if let Err(error) = self.inputs.try_send(Sent::Input(Input::SessionClosed(session))) {
            tracing::debug!("the end of a session was not noted: {error}");
        }
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

    async fn call(&self, tool: &Tool, call: CallTool, context: &Context) -> Result<CallToolResult, Failure> {
        let name = tool.name().as_str();
        let permit = self.gate.enter(Caller::Request(context.clone()), name).await?;
        let link = permit.live().link();
        let chain = permit.live().chain();
        let mut arguments_json = call.arguments.unwrap_or(RawJson::EMPTY_OBJECT).into_bytes();
        if !chain.is_empty() {
            arguments_json = chain.before(link, name, arguments_json, self.call_timeout).await?;
        }
        let request = CallToolRequest { arguments_json: arguments_json.clone(), name: call.name, ..Default::default() };
        let answer = link.call_tool(request, self.call_timeout, options(context).named(permit.call())).await;
        match answer {
            Ok(CallAnswer::Result(mut response)) => {
                chain.after(link, name, &arguments_json, &mut response, self.call_timeout).await;
                Ok(self.finish(tool, response, &permit, context.session()).await)
            }
            Ok(CallAnswer::Task(_)) => Err(Failure::Unusable {
                tool: name.into(),
                why: "the tool went on as a task, which this bridge cannot follow".into(),
            }),
            Err(error) => Err(failure(name, error, permit.live()).await),
        }
    }

    /// The result for the host, after the list has changed as the tool wished: the next `tools/list` sees it.
    async fn finish(
        &self,
        tool: &Tool,
        mut response: CallToolResponse,
        permit: &Permit,
        session: SessionId,
    ) -> CallToolResult {
        let generation = permit.live().generation();
        let enable = std::mem::take(&mut response.enable_tools);
        let disable = std::mem::take(&mut response.disable_tools);
        if let Some(command) = control::inline(enable, disable) {
            let input = Input::Control { generation, session: Some(session), command: Ok(command), reply: None };
            self.apply(input).await;
        }
        let converted = result::from_wire(tool, response);
        if converted.proven {
            self.apply(Input::Proven(generation, tool.name().clone())).await;
        }
        converted.result
    }

    /// Has the core take an input, and waits until its effects are in force.
    async fn apply(&self, input: Input) {
        let (done, applied) = oneshot::channel();
        // A bridge that is shutting down applies nothing any more, and nobody will see the list again.
        if self.inputs.send(Sent::Acknowledged(input, done)).await.is_ok() {
            let _ended = applied.await;
        }
    }
}

/// Someone listens to progress only if the host gave a token.
fn options(context: &Context) -> Options {
    if context.progress_token().is_none() {
        return Options::default();
    }
    let context = context.clone();
    Options::default().on_progress(move |progress| context.progress(&convert(progress)))
}

/// A total of 0 and an empty message mean that there is none (wire contract §4.4).
fn convert(progress: LinkProgress) -> Progress {
    let LinkProgress { progress, total, message } = progress;
    Progress {
        progress: Amount::from(progress),
        total: (total != 0).then(|| Amount::from(total)),
        message: (!message.is_empty()).then_some(message),
    }
}

async fn failure(tool: &str, error: CallError, live: &Live) -> Failure {
    let tool = tool.to_owned();
    match error {
        CallError::TimedOut(after) => Failure::TimedOut { tool, after },
        CallError::Interrupted => Failure::Interrupted { tool },
        CallError::Closed(closed) => {
            let how = match live.exit().await {
                Some(exit) => Told::new(&exit, "").to_string(),
                None => format!("broke its link: {closed}"),
            };
            Failure::Crashed { tool, how }
        }
        CallError::Busy(waiting) => Failure::Overloaded { tool, waiting },
        CallError::AnswerTooLarge { .. } => Failure::TooLarge { tool, why: error.to_string() },
        other => Failure::Unusable { tool, why: other.to_string() },
    }
}
