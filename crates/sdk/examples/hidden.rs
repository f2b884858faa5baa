//! Tools that appear when they make sense: `pmcp dev crates/sdk/examples/hidden.rs`.
//!
//! A call shows and hides tools by name. The client is notified, in this session only. Clients of MCP 2026-07-28 have no
//! session, and a list that does not change: for them, see `workflow.rs`.

use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool, ToolChange, ToolError, ToolSelection};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Open {
    code: String,
}

/// The tools of an open vault.
const INSIDE: [&str; 2] = ["look_inside", "close_vault"];

async fn open(tools: ToolSelection, context: Context, args: Open) -> Result<&'static str, ToolError> {
    if args.code != "1234" {
        return Err(ToolError::new("wrong code").with_code("WRONG_CODE").with_suggestion("ask the owner").retryable());
    }
    let change = ToolChange::enable_then_disable(INSIDE.map(str::to_owned).into(), vec!["open_vault".into()]);
    tools.change(&context, change).await.map_err(|error| error.to_string())?;
    Ok("open")
}

async fn close(tools: ToolSelection, context: Context) -> Result<&'static str, ToolError> {
    let change = ToolChange::enable_then_disable(vec!["open_vault".into()], INSIDE.map(str::to_owned).into());
    tools.change(&context, change).await.map_err(|error| error.to_string())?;
    Ok("closed")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = ToolSelection::default();
    let (opening, closing) = (tools.clone(), tools.clone());
    let open = move |context: Context, args: Open| open(opening.clone(), context, args);
    let close = move |context: Context| close(closing.clone(), context);
    let registry = Registry::builder("vault", "1.0")
        .tool(Tool::new("open_vault", "Opens the vault.").handler(open))
        .tool(Tool::new("look_inside", "Looks inside.").handler(async || "three gold coins").read_only().hidden())
        .tool(Tool::new("close_vault", "Closes the vault.").handler(close).hidden())
        .selection(&tools)
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
