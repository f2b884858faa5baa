//! The innermost view of results: they reach the envelope as values, and a large one is never copied into a message.

use std::sync::Arc;

use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_types::{CallToolResult, ErrorObject, RawJson};

use crate::call::Call;

/// Keeps the result of each request for the bridge, and gives the session an empty one to answer with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capture;

/// The service around the server's own.
#[derive(Debug)]
pub(crate) struct Captured<S>(S);

impl<S: Service> Layer<S> for Capture {
    type Service = Captured<S>;

    fn layer(&self, inner: S) -> Captured<S> {
        Captured(inner)
    }
}

impl<S: Service> Service for Captured<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let call = context.extension::<Arc<Call>>().cloned();
        let is_tool = matches!(request, ServerRequest::CallTool(_));
        let _running = call.as_ref().filter(|_| is_tool).map(|call| call.begin());
        let result = self.0.call(request, context).await?;
        let Some(call) = call else { return Ok(result) };
        let stand_in = match &result {
            // The session asks, and calls again.
            ServerResult::InputRequired(_) => return Ok(result),
            // An error may stand for the questions of a handler, which the session looks for.
            ServerResult::CallTool(tool) => ServerResult::CallTool(CallToolResult {
                is_error: tool.is_error,
                ..CallToolResult::new(RawJson::EMPTY_ARRAY)
            }),
            _ => ServerResult::Empty,
        };
        call.keep(result);
        Ok(stand_in)
    }
}
