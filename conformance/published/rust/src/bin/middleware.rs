//! Middleware that the bridge runs around every call of this process: cargo build, then
//! pmcp dev target/debug/middleware.
//!
//! Before the call it may change the arguments or reject the call; after it, it may change the result. The lowest
//! priority comes first before the call and last after it.

use std::collections::HashMap;

use protomcp::{middleware, tool, ArgDef, ToolResult};
use serde_json::Value;

fn answer(name: &str, value: impl Into<String>) -> HashMap<String, String> {
    HashMap::from([(name.to_owned(), value.into())])
}

#[tokio::main]
async fn main() {
    middleware("limits", 10, |phase, _tool, arguments, _result, _is_error| {
        let amount = serde_json::from_str::<Value>(arguments).ok().and_then(|given| given["amount"].as_i64());
        if phase == "before" && amount.is_some_and(|amount| amount > 100) {
            let mut refusal = answer("reject", "true");
            refusal.extend(answer("reject_reason", "at most 100 at a time"));
            return refusal;
        }
        HashMap::new()
    });
    middleware("currency", 20, |phase, _tool, arguments, result, _is_error| {
        if phase == "before" {
            let mut given: Value = serde_json::from_str(arguments).unwrap_or_default();
            given["currency"] = "EUR".into();
            return answer("arguments_json", given.to_string());
        }
        answer("result_json", result.replace("EUR", "€"))
    });
    tool("pay")
        .description("Pays an amount.")
        .arg(ArgDef::int("amount"))
        .handler(|_, args| {
            ToolResult::new(format!("paid {} {}", args["amount"], args["currency"].as_str().unwrap_or("?")))
        })
        .register();
    protomcp::run().await;
}
