//! Limits the time of each request.

use std::time::Duration;

use protomcp_types::{CallToolResult, ErrorObject};

use crate::call::context::Context;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult};

/// Drops a request that takes longer than `after`. A tool call then has a result with `is_error`, so that the model
/// sees it; any other request fails with −32603.
#[derive(Debug, Clone, Copy)]
pub struct TimeoutLayer {
    after: Duration,
}

/// A service behind a [`TimeoutLayer`].
#[derive(Debug)]
pub struct Timeout<S> {
    inner: S,
    after: Duration,
}

impl TimeoutLayer {
    /// A layer with this time limit.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { after }
    }
}

impl<S: Service> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, after: self.after }
    }
}

impl<S: Service> Service for Timeout<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let tool = match &request {
            // A client that wants a task cannot read a result.
            ServerRequest::CallTool(call) if call.task.is_none() => Some(call.name.clone()),
            _ => None,
        };
        let method = request.method().to_owned();
        match tokio::time::timeout(self.after, self.inner.call(request, context)).await {
            Ok(outcome) => outcome,
            Err(_) => match tool {
                Some(tool) => {
                    Ok(CallToolResult::error(format!("call tool {tool:?} timed out after {:?}", self.after)).into())
                }
                None => Err(ErrorObject::internal(format!("{method} timed out after {:?}", self.after))),
            },
        }
    }
}
