//! Values that handlers share, and that the model does not pass: `pmcp dev crates/sdk/examples/server_context.rs`.
//!
//! A handler is a closure, which holds what it needs. The client of a call is in its context.

use std::env;
use std::sync::Arc;

use protomcp_sdk::{Principal, RequestContext};
use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[serde(default = "home")]
    workspace: String,
}

fn home() -> String {
    "home".into()
}

/// The values of all calls.
struct Shared {
    user: String,
}

/// The authenticated user of a call, if there is one.
fn principal(context: &Context) -> Option<&Principal> {
    context.extension::<RequestContext>()?.principal.as_ref()
}

async fn whoami(shared: Arc<Shared>, context: Context, args: Place) -> String {
    let user = principal(&context).map_or(&shared.user, |principal| &principal.subject);
    format!("{user} in {}", args.workspace)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shared = Arc::new(Shared { user: env::var("NOTES_USER").unwrap_or_else(|_| "guest".into()) });
    let whoami = move |context: Context, args: Place| whoami(Arc::clone(&shared), context, args);
    let whoami = Tool::new("whoami", "Says who asks, and where.").handler(whoami).read_only();
    let registry = Registry::builder("context", "1.0").tool(whoami).build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
