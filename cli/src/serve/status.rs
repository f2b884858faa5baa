//! The live status of the calls that servers behind the gateway answer.

use std::time::Instant;

use protomcp_bridge::CallStatus;
use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_types::ErrorObject;

/// Shows each call: its begin, and its end with its outcome and its duration.
pub(super) struct StatusLayer;

/// A service whose calls are shown.
pub(super) struct WithStatus<S>(S);

impl<S: Service> Layer<S> for StatusLayer {
    type Service = WithStatus<S>;

    fn layer(&self, inner: S) -> WithStatus<S> {
        WithStatus(inner)
    }
}

impl<S: Service> Service for WithStatus<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let running = match &request {
            ServerRequest::CallTool(call) => Running::begin(&call.name),
            _ => None,
        };
        let answered = self.0.call(request, context).await;
        if let Some(mut running) = running {
            running.set_answer(&answered);
        }
        answered
    }
}

/// A call. Dropped without an answer, it was cancelled.
struct Running {
    status: CallStatus,
    began: Instant,
    outcome: &'static str,
}

impl Running {
    fn begin(tool: &str) -> Option<Self> {
        let status = CallStatus::begin(tool)?;
        Some(Self { status, began: Instant::now(), outcome: "cancelled" })
    }

    fn set_answer(&mut self, answer: &Result<ServerResult, ErrorObject>) {
        self.outcome = match answer {
            Ok(ServerResult::CallTool(result)) => {
                self.status.set_result(result);
                if result.is_error { "tool error" } else { "ok" }
            }
            Ok(ServerResult::Body(body)) => {
                self.status.set_bytes(body.len());
                "ok"
            }
            Ok(_) => "ok",
            Err(error) => {
                self.status.set_failure(&error.message);
                "failed"
            }
        };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.status.end(self.outcome, self.began.elapsed());
    }
}
