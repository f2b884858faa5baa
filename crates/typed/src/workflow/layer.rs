//! The layer around the tool of a step: checks the order before it runs, and says what can follow.

use std::sync::Arc;

use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_types::{CallTool, CallToolResult, ContentBlock, ErrorObject, JsonObject, RawJson, array};

use crate::tool::error::ToolError;
use crate::workflow::limit::Limit;
use crate::workflow::runs::{After, Caller, HANDLE, Position, Refusal, Runs};

/// Wraps the tool of a step, or the one that ends a run.
#[derive(Debug, Clone)]
pub(crate) struct StepLayer {
    runs: Arc<Runs>,
    /// `None`: the tool ends the run.
    step: Option<Position>,
    /// Hides other tools during a run.
    limit: Option<Arc<Limit>>,
}

/// The service of a step.
#[derive(Debug)]
pub(crate) struct StepService<S> {
    layer: StepLayer,
    inner: S,
}

impl StepLayer {
    pub(crate) fn step(runs: Arc<Runs>, step: Position, limit: Option<Arc<Limit>>) -> Self {
        Self { runs, step: Some(step), limit }
    }

    pub(crate) fn cancel(runs: Arc<Runs>, limit: Option<Arc<Limit>>) -> Self {
        Self { runs, step: None, limit }
    }

    /// Changes the tools that the client of a call sees.
    async fn change_list(&self, context: &Context, after: &After) {
        match (&self.limit, after) {
            (Some(limit), After::Next(_)) => limit.apply(context).await,
            (Some(limit), After::Ended) => limit.lift(context).await,
            (Some(_), After::NotBegun) | (None, _) => {}
        }
    }

    /// Shows the client all tools again if the run of its session was forgotten.
    async fn without_run(&self, context: &Context, caller: &Caller) {
        if !self.runs.has_run(caller) {
            self.change_list(context, &After::Ended).await;
        }
    }
}

impl<S: Service> Layer<S> for StepLayer {
    type Service = StepService<S>;

    fn layer(&self, inner: S) -> StepService<S> {
        StepService { layer: self.clone(), inner }
    }
}

impl<S: Service> Service for StepService<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let ServerRequest::CallTool(mut call) = request else { return self.inner.call(request, context).await };
        let handle = take_handle(&mut call);
        let (runs, caller) = (&self.layer.runs, Caller::of(&context));
        let Some(step) = self.layer.step else {
            let text = if runs.cancel(&caller, handle.as_deref()) {
                self.layer.change_list(&context, &After::Ended).await;
                format!("the run of {} has ended", runs.name())
            } else {
                self.layer.without_run(&context, &caller).await;
                format!("there is no such run of {}", runs.name())
            };
            return Ok(ServerResult::CallTool(CallToolResult::text(text)));
        };
        let handle = match runs.begin(step, &caller, handle.as_deref()) {
            Ok(handle) => handle,
            Err(refusal) => {
                self.layer.without_run(&context, &caller).await;
                return Ok(ServerResult::CallTool(refused(refusal)));
            }
        };
        let mut running = Running { runs, handle: Some(handle) };
        let outcome = self.inner.call(ServerRequest::CallTool(call), context.clone()).await;
        let Some(handle) = running.handle.take() else { return outcome };
        let has_failed = match &outcome {
            Ok(ServerResult::CallTool(result)) => result.is_error,
            Ok(_) => false,
            Err(_) => true,
        };
        let after = runs.end(step, &handle, has_failed);
        match after {
            After::NotBegun => self.layer.without_run(&context, &caller).await,
            After::Next(_) | After::Ended => self.layer.change_list(&context, &after).await,
        }
        outcome.map(|result| match result {
            ServerResult::CallTool(result) => ServerResult::CallTool(with_next(result, &handle, &after)),
            other => other,
        })
    }
}

/// A step that runs. Dropping it lets the run continue.
struct Running<'a> {
    runs: &'a Runs,
    handle: Option<String>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            self.runs.abandon(handle);
        }
    }
}

/// Takes the handle out of the arguments: the handler does not know it.
fn take_handle(call: &mut CallTool) -> Option<String> {
    let mut members = JsonObject::from_raw(call.arguments.as_ref()?).ok()?;
    let handle = members.take(HANDLE)?;
    call.arguments = Some(members.to_body().into_raw());
    handle.to().ok()
}

fn refused(refusal: Refusal) -> CallToolResult {
    let error = ToolError::new(refusal.message).with_code(refusal.code);
    if refusal.is_retryable { error.retryable().into_result() } else { error.into_result() }
}

/// The result with one more text, for the model.
fn with_next(mut result: CallToolResult, handle: &str, after: &After) -> CallToolResult {
    let text = match after {
        After::Next(tools) => format!("Next: {}, with {HANDLE} = {handle:?}.", tools.join(" or ")),
        After::Ended => "The workflow has ended.".to_owned(),
        After::NotBegun => return result,
    };
    let blocks: Vec<RawJson> = result.content.to().unwrap_or_default();
    result.content = array(blocks.into_iter().chain([ContentBlock::text(text).to_raw()]));
    result
}
