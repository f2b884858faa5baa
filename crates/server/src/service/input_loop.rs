//! Calls handlers that keep their state with the client again, in a session: the request stays open, so the questions
//! are sent immediately, and the handler is called again with the answers. One handler serves both eras.

use protomcp_types::{CallToolResult, ErrorObject};

use crate::call::context::Context;
use protomcp_session::{AskError, InputRequired, ServerRequest, ServerResult};

/// The number of times that a handler may be called again for one request. A handler that asks nothing and only
/// requests another call would otherwise loop for ever.
const MAX_ROUNDS: usize = 32;

/// A copy of the request, if its handler may be called again.
pub(crate) fn keep(request: &ServerRequest, context: &Context) -> Option<ServerRequest> {
    (!context.is_stateless() && may_ask(request)).then(|| request.clone())
}

/// The input that the handler requires before it can answer, if it requires any.
pub(crate) fn required(context: &Context, outcome: &Result<ServerResult, ErrorObject>) -> Option<InputRequired> {
    match outcome {
        Ok(ServerResult::InputRequired(required)) => Some(required.clone()),
        Ok(ServerResult::CallTool(result)) if result.is_error => context.take_required(),
        Ok(_) => None,
        Err(_) => context.take_required(),
    }
}

/// Asks the client, and returns the context of the next call; `round` is the number of calls so far.
///
/// # Errors
/// The answer to the request, if the handler is not called again.
pub(crate) async fn ask(
    request: &ServerRequest,
    context: &Context,
    required: InputRequired,
    round: usize,
) -> Result<Context, Result<ServerResult, ErrorObject>> {
    if round >= MAX_ROUNDS {
        let why = format!("the server has asked {MAX_ROUNDS} times and does not answer");
        return Err(Err(ErrorObject::internal(why)));
    }
    match context.ask_all(required.questions).await {
        Ok(answers) => Ok(context.for_retry(required.state, answers)),
        Err(error) => Err(refuse(request, error)),
    }
}

/// The requests that may ask without a session (MCP 2026-07-28, basic/patterns/mrtr), and so with one.
fn may_ask(request: &ServerRequest) -> bool {
    matches!(request, ServerRequest::CallTool(_) | ServerRequest::GetPrompt(_) | ServerRequest::ReadResource(_))
}

/// A tool that cannot ask has failed; its result has the reason for the model.
fn refuse(request: &ServerRequest, error: AskError) -> Result<ServerResult, ErrorObject> {
    match request {
        ServerRequest::CallTool(_) => Ok(ServerResult::CallTool(CallToolResult::error(error.to_string()))),
        _ => Err(error.into()),
    }
}
