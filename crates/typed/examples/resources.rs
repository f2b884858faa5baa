//! Resources over stdio: a constant one, one that changes and notifies its subscribers, and a template.
//!
//! Try it with `npx @modelcontextprotocol/inspector cargo run -p protomcp-typed --example resources`: subscribe to
//! `visits://all`, call `visit`, and read it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protomcp_transport::stdio;
use protomcp_typed::{Capability, Json, JsonSchema, Registry, Resource, Template, Tool};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Square {
    number: u32,
}

#[derive(Serialize)]
struct Squared {
    number: u32,
    square: u64,
}

async fn square(args: Square) -> Json<Squared> {
    Json(Squared { number: args.number, square: u64::from(args.number).pow(2) })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let visits = Arc::new(AtomicU64::new(0));
    let read = {
        let visits = Arc::clone(&visits);
        move || {
            let visits = visits.load(Ordering::Relaxed);
            async move { format!("{visits} visits") }
        }
    };
    let registry = Registry::builder("library", "1.0")
        .resource(Resource::new("motto://today", "motto").text("Simplicity is a prerequisite for reliability."))
        .resource(Resource::new("visits://all", "visits").handler(read).describe("The number of visits"))
        .template(Template::new("square://{number}", "square").handler(square))
        .declare(Capability::Tools)
        .build()?;
    // The tool changes a resource; its subscribers are notified.
    let changed = registry.clone();
    registry.tools().insert(Tool::new("visit", "Come by").handler(move || {
        visits.fetch_add(1, Ordering::Relaxed);
        changed.resource_updated("visits://all");
        async { "welcome" }
    }))?;
    registry.serve(stdio()?).await?;
    Ok(())
}
