//! A tool that sends its user to a page: `pmcp dev crates/sdk/examples/sign_in.rs`.

use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool};
use protomcp_types::{Elicit, ElicitAction};
use serde::Deserialize;

const PAGE: &str = "https://example.com/sign-in";

#[derive(Deserialize, JsonSchema)]
struct Connect {
    account: String,
}

async fn connect(context: Context, args: Connect) -> String {
    let Connect { account } = args;
    let visit = context.request_id().to_string();
    match context.ask::<Elicit>(&Elicit::url(format!("Sign in as {account}."), PAGE, visit)).await {
        Ok(answer) if answer.action == ElicitAction::Accept => format!("connected {account}"),
        Ok(_) => "not connected".into(),
        // The client may not open pages.
        Err(_) => format!("open {PAGE}, then call connect again"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let about = "Connects an account. Its user signs in on a page, which the client does not see.";
    let registry = Registry::builder("accounts", "1.0").tool(Tool::new("connect", about).handler(connect)).build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
