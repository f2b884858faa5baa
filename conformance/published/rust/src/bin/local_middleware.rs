//! Code around every handler, inside the tool process: cargo build, then pmcp dev target/debug/local_middleware.
//!
//! The lowest priority is the outermost. For middleware that the bridge runs, see `middleware.rs`.

use protomcp::{local_middleware, tool, ArgDef, ToolResult};

#[tokio::main]
async fn main() {
    local_middleware(10, |ctx, tool_name, arguments, following| {
        let mut result = following(ctx, arguments);
        if result.is_error {
            result.suggestion = format!("Look into the manual of {tool_name}.");
        }
        result
    });
    local_middleware(20, |ctx, _, mut arguments, following| {
        if let Some(city) = arguments["city"].as_str().map(str::to_lowercase) {
            arguments["city"] = city.into();
        }
        following(ctx, arguments)
    });
    tool("weather")
        .description("Tells the weather of a city.")
        .arg(ArgDef::string("city"))
        .read_only_hint(true)
        .handler(|_, args| match args["city"].as_str() {
            Some("ulm") => ToolResult::new("mild"),
            other => ToolResult::error(format!("no weather for {}", other.unwrap_or("?")), "NOT_FOUND", "", false),
        })
        .register();
    protomcp::run().await;
}
