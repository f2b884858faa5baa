//! Handlers that keep their state with the client, in a session: no request is answered early there, so the questions
//! are asked there and then, and the handler is called again with the answers. One handler serves both eras.

use protomcp_types::{CallToolResult, ErrorObject};

use crate::context::Context;
use protomcp_session::{AskError, InputRequired, ServerRequest, ServerResult};

/// The number of times that a handler may be called again for one request. One that asks nothing and only wants to come
/// back would go on for ever.
const MAX_ROUNDS: usize = 32;

/// The request once more, if its handler may have to be called again.
pub(crate) fn keep(request: &ServerRequest, context: &Context) -> Option<ServerRequest> {
    (!context.is_stateless() && may_ask(request)).then(|| request.clone())
}

/// The input that the handler requires, if that is why it has not answered.
pub(crate) fn required(context: &Context, outcome: &Result<ServerResult, ErrorObject>) -> Option<InputRequired> {
    match outcome {
        Ok(ServerResult::InputRequired(required)) => Some(required.clone()),
        Ok(ServerResult::CallTool(result)) if result.is_error => context.take_required(),
        Ok(_) => None,
        Err(_) => context.take_required(),
    }
}

/// Asks the client, and returns what the handler is called with the next time; `round` is how often it was called.
///
/// # Errors
/// What the request is answered with because there is no next time.
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

/// A tool that cannot ask has failed, and its model is told why.
fn refuse(request: &ServerRequest, error: AskError) -> Result<ServerResult, ErrorObject> {
    match request {
        ServerRequest::CallTool(_) => Ok(ServerResult::CallTool(CallToolResult::error(error.to_string()))),
        _ => Err(error.into()),
    }
}
