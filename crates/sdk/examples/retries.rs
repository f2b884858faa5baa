//! Code around every handler, inside the tool process: `pmcp dev crates/sdk/examples/retries.rs`.
//!
//! The layer that is added last sees a call first.

use std::sync::atomic::{AtomicU32, Ordering};

use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_typed::{JsonSchema, Registry, Tool, ToolError};
use protomcp_types::{CallToolResult, ErrorObject};
use serde::Deserialize;

/// Calls a tool again that has failed, if the same call may succeed later.
struct TryTwice;

struct TwiceTried<S>(S);

impl<S: Service> Layer<S> for TryTwice {
    type Service = TwiceTried<S>;

    fn layer(&self, inner: S) -> TwiceTried<S> {
        TwiceTried(inner)
    }
}

impl<S: Service> Service for TwiceTried<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match self.0.call(request.clone(), context.clone()).await? {
            ServerResult::CallTool(CallToolResult { is_error: true, meta: Some(meta), .. })
                if meta.as_str().contains(r#""retryable":true"#) =>
            {
                self.0.call(request, context).await
            }
            other => Ok(other),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Weather {
    city: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
    let weather = async |args: Weather| match ATTEMPTS.fetch_add(1, Ordering::Relaxed) + 1 {
        odd if odd % 2 == 1 => Err(ToolError::new("the network is busy").retryable()),
        _ if args.city != "ulm" => {
            Err(ToolError::new("found nothing").with_code("NOT_FOUND").with_suggestion("Try ulm."))
        }
        attempt => Ok(format!("mild, at attempt {attempt}")),
    };
    let registry = Registry::builder("weather", "1.0")
        .tool(Tool::new("weather", "Tells the weather of a city.").handler(weather).read_only())
        .build()?;
    Ok(protomcp_sdk::run(registry.server().layer(TryTwice)).await?)
}
