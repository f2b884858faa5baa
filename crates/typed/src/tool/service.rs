//! A tool as a service, so that every layer of a server can also be put around one tool.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use protomcp_schema::{
    ErrorMeta, INVALID_ARGUMENTS, Mismatch, OUTPUT_SCHEMA_MISMATCH, Quote, Validator, mismatched_result,
};
use protomcp_server::{Context, LargeWork, ServerRequest, ServerResult, Service};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, RawJson};
use serde_json::Value;
use tokio::time::timeout;

use crate::function::{HandlerFn, Running};
use crate::schema::WRAPPED;
use crate::tool::error::ToolError;
use crate::tool::output::IntoToolResult;

/// The service of one tool. Cloning is cheap. Only calls of its tool reach it.
#[derive(Clone)]
pub struct ToolService(Arc<dyn AnyService>);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<ServerResult, ErrorObject>> + Send + 'a>>;

trait AnyService: Send + Sync {
    fn call(&self, request: ServerRequest, context: Context) -> Answer<'_>;
}

impl<S: Service> AnyService for S {
    fn call(&self, request: ServerRequest, context: Context) -> Answer<'_> {
        Box::pin(Service::call(self, request, context))
    }
}

impl ToolService {
    pub(crate) fn new(service: impl Service) -> Self {
        Self(Arc::new(service))
    }
}

impl Service for ToolService {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        self.0.call(request, context).await
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolService").finish_non_exhaustive()
    }
}

/// The innermost service: checks the arguments, runs the handler, checks the result.
pub(crate) struct Core {
    /// The tool as clients know it.
    pub(crate) tool: String,
    /// The action of the tool that this is, if it is not all of it.
    pub(crate) action: Option<String>,
    pub(crate) handler: AnyHandler,
    pub(crate) input: Validator,
    pub(crate) output: Option<Validator>,
    /// True if the structured content is wrapped into an object.
    pub(crate) wrap: bool,
}

impl Service for Core {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::CallTool(call) => self.run(call, context).await.map(ServerResult::CallTool),
            other => Err(ErrorObject::method_not_found(other.method())),
        }
    }
}

impl Core {
    async fn run(&self, mut call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let checked = self.check(&mut call, &context).await;
        let running = match checked.and_then(|()| (self.handler)(context, call)) {
            Ok(running) => running,
            Err(why) => return Ok(self.refuse(&why)),
        };
        let mut result = running.await?;
        result.structured_content = match result.structured_content.take() {
            Some(value) if self.wrap || value.kind() != protomcp_types::Kind::Object => Some(wrapped(&value)),
            value => value,
        };
        Ok(self.enforce_output(result))
    }

    /// Checks the arguments, large ones on their own thread. Hosts send arrays, objects and numbers as the text of
    /// their JSON now and then: these are decoded.
    async fn check(&self, call: &mut CallTool, context: &Context) -> Result<(), Mismatch> {
        let arguments = call.arguments_or_empty();
        let decoded = if self.input.takes_long(&arguments) {
            let worker = LARGE_CHECKS.worker(context.caller().owner.clone());
            let input = self.input.clone();
            match timeout(Validator::CHECK_TIME, worker.run(move || checked(&input, &arguments))).await {
                Ok(outcome) => outcome?,
                Err(_) => return Err(Mismatch::new("they cannot be checked in time; send less in one call")),
            }
        } else {
            checked(&self.input, &arguments)?
        };
        if decoded.is_some() {
            tracing::debug!(tool = self.tool, "arguments arrived as the text of their JSON");
            call.arguments = decoded;
        }
        Ok(())
    }

    /// The model can correct mismatched arguments (MCP 2025-11-25, server/tools, error handling).
    fn refuse(&self, why: &Mismatch) -> CallToolResult {
        let text = match &self.action {
            None => why.of_arguments(&self.tool),
            Some(action) => why.of_action(&self.tool, action),
        };
        ToolError::new(text).with_code(INVALID_ARGUMENTS).into_result()
    }

    /// Clients rely on an output schema; error results are exempt from it.
    fn enforce_output(&self, result: CallToolResult) -> CallToolResult {
        let Some(output) = self.output.as_ref().filter(|_| !result.is_error) else { return result };
        let value: Value = match &result.structured_content {
            Some(structured) => structured.to().unwrap_or_default(),
            None => Value::Null,
        };
        let Err(why) = output.check(&value, Quote::Values) else { return result };
        tracing::error!(tool = self.tool, %why, "a result does not fit the tool's own output schema");
        let message = &why.of_result(&self.tool);
        let error = ErrorMeta {
            code: Some(OUTPUT_SCHEMA_MISMATCH),
            message,
            suggestion: None,
            retryable: false,
            retry_after: None,
        };
        mismatched_result(&result, message, error.to_meta())
    }
}

/// The threads that check large arguments, for all tools of the process.
static LARGE_CHECKS: LazyLock<LargeWork> = LazyLock::new(LargeWork::default);

/// Checks arguments. Returns them decoded if a part of them was the text of its JSON.
fn checked(input: &Validator, arguments: &RawJson) -> Result<Option<RawJson>, Mismatch> {
    let mut value: Value = arguments.to().map_err(unreadable)?;
    let decoded = input.decode_texts(arguments, &value);
    if let Some(decoded) = &decoded {
        value = decoded.to().map_err(unreadable)?;
    }
    input.check(&value, Quote::Values)?;
    Ok(decoded)
}

/// A handler of an erased signature: parses the arguments of a call and runs.
pub(crate) type AnyHandler =
    Box<dyn Fn(Context, CallTool) -> Result<Running<Result<CallToolResult, ErrorObject>>, Mismatch> + Send + Sync>;

pub(crate) fn erase<S: 'static, H>(handler: H) -> AnyHandler
where
    H: HandlerFn<S, Output: IntoToolResult>,
{
    Box::new(move |context, call| {
        let arguments = call.arguments_or_empty().to().map_err(unreadable)?;
        let running = handler.call(context.clone(), arguments);
        Ok(Box::pin(async move {
            let output = running.await;
            match output.task_error() {
                Some(error) if !context.is_task() => Ok(ToolError::from(error.clone()).into_result()),
                _ => output.into_tool_result(),
            }
        }))
    })
}

fn unreadable(error: impl fmt::Display) -> Mismatch {
    Mismatch::new(error.to_string())
}

fn wrapped(value: &RawJson) -> RawJson {
    protomcp_types::JsonBuf::object().raw(WRAPPED, value).finish().into_raw()
}
