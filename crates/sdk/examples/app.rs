//! A page next to the results of a tool (MCP Apps): `pmcp dev crates/sdk/examples/app.rs`. A host that shows apps fills
//! the page, a chart, with each result, and the controls of the page call a tool that the model does not see. Other
//! hosts get the text.

use std::path::PathBuf;

use protomcp_server::Context;
use protomcp_typed::{DefinitionError, Json, JsonSchema, Registry, Resource, Tool};
use protomcp_types::{UiResource, UiTool, UiVisibility};
use serde::{Deserialize, Serialize};

const PAGE: &str = "ui://weather/forecast";

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Day {
    city: String,
    day: i32,
}

#[derive(Serialize, JsonSchema)]
struct Forecast {
    city: String,
    day: i32,
    degrees: i32,
    /// True if the caller sees the page.
    shown: bool,
}

async fn forecast(context: Context, place: Place) -> Json<Forecast> {
    Json(Forecast { city: place.city, day: 0, degrees: 21, shown: context.shows_apps() })
}

async fn forecast_day(context: Context, Day { city, day }: Day) -> Json<Forecast> {
    Json(Forecast { city, day, degrees: 21 - day, shown: context.shows_apps() })
}

/// The tools with the page in this file, which is read whenever a host asks for it: a save shows without a restart.
pub(crate) fn weather(page: PathBuf) -> Result<Registry, DefinitionError> {
    let ui = UiResource { prefers_border: Some(true), ..UiResource::default() };
    let read = move || std::future::ready(std::fs::read_to_string(&page));
    Registry::builder("weather", "1.0")
        .resource(Resource::app(PAGE, "forecast").handler(read).ui(&ui))
        .tool(
            Tool::new("forecast", "Forecasts the weather of today.")
                .handler(forecast)
                .ui(&UiTool::shown_by(PAGE))
                .read_only(),
        )
        .tool(
            Tool::new("forecast_day", "Forecasts the weather of a later day.")
                .handler(forecast_day)
                .ui(&UiTool::shown_by(PAGE).visible_to([UiVisibility::App]))
                .read_only(),
        )
        .build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A built program may have its page next to it.
    let next_to_it = std::env::current_exe()?.with_file_name("app.html");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/app.html");
    let registry = weather(if next_to_it.is_file() { next_to_it } else { sources.into() })?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
