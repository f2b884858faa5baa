//! The live status of the calls that servers behind the gateway answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use protomcp_bridge::STATUS_TARGET;
use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_types::{CallToolResult, ErrorObject};
use serde::Deserialize;

/// The most characters of a name or a reason.
const MAX_TEXT: usize = 200;

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
            ServerRequest::CallTool(call) if tracing::enabled!(target: STATUS_TARGET, tracing::Level::DEBUG) => {
                Some(Running::begin(clipped(&call.name)))
            }
            _ => None,
        };
        let answered = self.0.call(request, context).await;
        if let Some(mut running) = running {
            (running.outcome, running.why) = match &answered {
                Ok(ServerResult::CallTool(result)) if result.is_error => ("tool error", reason(result)),
                Ok(ServerResult::CallTool(result)) => {
                    let structured = result.structured_content.as_ref().map_or(0, |content| content.as_str().len());
                    running.bytes = result.content.as_str().len() + structured;
                    ("ok", String::new())
                }
                Ok(ServerResult::Body(body)) => {
                    running.bytes = body.len();
                    ("ok", String::new())
                }
                Ok(_) => ("ok", String::new()),
                Err(error) => ("failed", clipped(&error.message)),
            };
        }
        answered
    }
}

/// A call. Dropped without an outcome, it was cancelled.
struct Running {
    call: u64,
    tool: String,
    began: Instant,
    outcome: &'static str,
    bytes: usize,
    why: String,
}

impl Running {
    fn begin(tool: String) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        tracing::trace!(target: STATUS_TARGET, tool, call, "{tool} begins");
        Self { call, tool, began: Instant::now(), outcome: "cancelled", bytes: 0, why: String::new() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Self { call, tool, began, outcome, bytes, why } = self;
        let time = began.elapsed();
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let colon = if why.is_empty() { "" } else { ": " };
        tracing::debug!(
            target: STATUS_TARGET,
            tool, outcome, ms, call, bytes, why,
            "{tool}: {outcome}, {time:.1?}{colon}{why}"
        );
    }
}

/// The first line of the text of an error.
fn reason(result: &CallToolResult) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: String,
    }
    let blocks: Vec<Block> = result.content.to().unwrap_or_default();
    blocks.iter().map(|block| clipped(&block.text)).find(|line| !line.is_empty()).unwrap_or_default()
}

/// The first line that is not empty, of a limited length.
fn clipped(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
