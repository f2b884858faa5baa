//! Every call reported by a layer: `pmcp dev crates/sdk/examples/telemetry.rs`.
//!
//! The output of the layer goes to the log of pmcp, never to the host.

#![expect(clippy::print_stderr, reason = "the output of a tool goes to the log")]

use protomcp_server::{Context, Layer, ServerRequest, ServerResult, Service};
use protomcp_typed::{JsonSchema, Registry, Tool};
use protomcp_types::{CallToolResult, ErrorObject};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
struct Divide {
    a: i64,
    b: i64,
}

/// Reports the calls of the service inside.
struct Telemetry;

struct Reported<S>(S);

impl<S: Service> Layer<S> for Telemetry {
    type Service = Reported<S>;

    fn layer(&self, inner: S) -> Reported<S> {
        Reported(inner)
    }
}

impl<S: Service> Service for Reported<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let ServerRequest::CallTool(call) = &request else { return self.0.call(request, context).await };
        let tool = call.name.clone();
        eprintln!("telemetry: {tool} start");
        let result = self.0.call(request, context).await;
        match &result {
            Ok(ServerResult::CallTool(result)) if !result.is_error => {
                eprintln!("telemetry: {tool} success {}", text(result));
            }
            Ok(_) | Err(_) => eprintln!("telemetry: {tool} error"),
        }
        result
    }
}

/// The first text of a result.
fn text(result: &CallToolResult) -> String {
    let blocks: Vec<Value> = result.content.to().unwrap_or_default();
    blocks.first().and_then(|block| block["text"].as_str()).unwrap_or_default().to_owned()
}

async fn divide(args: Divide) -> Result<String, &'static str> {
    args.a.checked_div(args.b).map(|quotient| quotient.to_string()).ok_or("this cannot be divided")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let divide = Tool::new("divide", "Divides.").handler(divide).read_only();
    let registry = Registry::builder("telemetry", "1.0").tool(divide).build()?;
    Ok(protomcp_sdk::run(registry.server().layer(Telemetry)).await?)
}
