//! Runs the middleware of a server around the calls of a harness, as a bridge does.

use std::time::Duration;

use bytes::Bytes;
use protomcp_envelope::{CallToolRequest, CallToolResponse, MiddlewareInterceptRequest, MiddlewareInterceptResponse};
use protomcp_link::{CallError, Link, Middleware};
use protomcp_types::RawJson;

/// The registered middleware, in its order before a call.
#[derive(Debug, Clone)]
pub(super) struct Around {
    middleware: Vec<Middleware>,
    time: Duration,
}

impl Around {
    /// `time` is the time of each middleware.
    pub(super) fn new(mut middleware: Vec<Middleware>, time: Duration) -> Self {
        middleware.sort_by_key(|known| known.priority);
        Self { middleware, time }
    }

    /// Runs before a call; `Some`: the result of a call that is rejected.
    pub(super) async fn before(
        &self,
        link: &Link,
        call: &mut CallToolRequest,
    ) -> Result<Option<CallToolResponse>, CallError> {
        for known in &self.middleware {
            let request = intercept(known, "before", &call.name, call.arguments_json.clone());
            let MiddlewareInterceptResponse { arguments_json, reject, reject_reason, .. } =
                link.call(request, self.time).await?;
            if reject {
                let result_json = RawJson::text(&reject_reason).into_bytes();
                return Ok(Some(CallToolResponse { is_error: true, result_json, ..CallToolResponse::default() }));
            }
            if !arguments_json.is_empty() {
                call.arguments_json = arguments_json;
            }
        }
        Ok(None)
    }

    /// Runs after a call.
    pub(super) async fn after(
        &self,
        link: &Link,
        call: &CallToolRequest,
        response: &mut CallToolResponse,
    ) -> Result<(), CallError> {
        for known in self.middleware.iter().rev() {
            let request = MiddlewareInterceptRequest {
                result_json: response.result_json.clone(),
                is_error: response.is_error,
                ..intercept(known, "after", &call.name, call.arguments_json.clone())
            };
            let answer = link.call(request, self.time).await?;
            if !answer.reject && !answer.result_json.is_empty() {
                response.result_json = answer.result_json;
            }
        }
        Ok(())
    }
}

fn intercept(known: &Middleware, phase: &str, tool: &str, arguments_json: Bytes) -> MiddlewareInterceptRequest {
    MiddlewareInterceptRequest {
        middleware_name: known.name.clone(),
        phase: phase.into(),
        tool_name: tool.into(),
        arguments_json,
        ..MiddlewareInterceptRequest::default()
    }
}
