//! A counter that survives a save: `pmcp dev crates/sdk/examples/visits.rs`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_sdk::{Config, Handover};
use protomcp_typed::{JsonSchema, Registry, Tool};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Visit {
    name: String,
    /// The time of the visit, in milliseconds.
    #[serde(default)]
    stay: u64,
}

/// Goes from one version of this file to the next. A version that adds a field can still read the state of one without.
#[derive(Default, Clone, Serialize, Deserialize)]
#[serde(default)]
struct Visits {
    count: u64,
    last: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let visits = Arc::new(Mutex::new(Visits::default()));
    let shared = Arc::clone(&visits);
    let visit = move |args: Visit| {
        let visits = Arc::clone(&shared);
        async move {
            tokio::time::sleep(Duration::from_millis(args.stay)).await;
            let mut visits = visits.lock().expect("no handler panics");
            visits.count += 1;
            visits.last = args.name;
            visits.count.to_string()
        }
    };
    let before = Arc::clone(&visits);
    let handover = Handover::new(
        move || before.lock().expect("no handler panics").clone(),
        move |state| *visits.lock().expect("no handler panics") = state,
    );
    let registry =
        Registry::builder("visits", "1.0").tool(Tool::new("visit", "Counts a visit.").handler(visit)).build()?;
    let config = Config { handover: Some(handover), ..Config::default() };
    Ok(protomcp_sdk::run_with(registry.server(), config).await?)
}
