//! Middleware that the bridge runs around every call of this process: `pmcp dev crates/sdk/examples/interception.rs`.
//!
//! Before the call it may change the arguments or reject the call; after it, it may change the result. The lowest
//! priority comes first before the call and last after it.

use protomcp_sdk::{Config, Middleware, Verdict};
use protomcp_typed::{JsonSchema, Registry, Tool};
use protomcp_types::{JsonObject, RawJson};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Pay {
    amount: u64,
    #[serde(default)]
    currency: String,
}

/// Euro are the default.
fn with_currency(arguments: &RawJson) -> Verdict {
    let Ok(members) = JsonObject::from_raw(arguments) else { return Verdict::Continue };
    match members.member("currency") {
        Some(_) => Verdict::Continue,
        None => Verdict::Replace(members.with("currency", RawJson::text("EUR")).to_body().into_raw()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limits = Middleware::new("limits", 10).before(async |call| match call.argument::<u64>("amount") {
        Some(101..) => Verdict::Reject("at most 100 at a time".into()),
        _ => Verdict::Continue,
    });
    let currency = Middleware::new("currency", 20)
        .before(async |call| with_currency(&call.arguments))
        .after(async |_, result| RawJson::parse(result.content.as_str().replace("EUR", "€")).ok());
    let pay = async |args: Pay| format!("paid {} {}", args.amount, args.currency);
    let registry = Registry::builder("cash", "1.0").tool(Tool::new("pay", "Pays an amount.").handler(pay)).build()?;
    let config = Config { middleware: vec![limits, currency], ..Config::default() };
    Ok(protomcp_sdk::run_with(registry.server(), config).await?)
}
