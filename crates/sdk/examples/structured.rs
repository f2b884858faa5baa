//! Results that programs can read: `pmcp dev crates/sdk/examples/structured.rs`. The type of the result is its schema.

use protomcp_typed::{Json, JsonSchema, Registry, Tool};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Forecast {
    city: String,
    degrees: i32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let forecast = async |place: Place| Json(Forecast { city: place.city, degrees: 21 });
    let registry = Registry::builder("weather", "1.0")
        .tool(Tool::new("forecast", "Forecasts the weather.").handler(forecast).title("Weather forecast").read_only())
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
