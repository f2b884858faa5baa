//! One tool process as one MCP server, with hot reload.
//!
//! A [`Bridge`] starts a tool process, learns its tools over the link, and serves them to any number of hosts. When files
//! change, a new generation of the process takes over without any host noticing: no call is lost, and a version that
//! does not start changes nothing.
//!
//! The modules, from the client to the tool process:
//!
//! * `handler` answers requests. It reads lists from an immutable snapshot, so that no request waits for another;
//! * `catalog` holds the definitions of the process: tools, resources, templates and prompts, and their pages;
//! * `call` takes one tool call to its result, and polls a task that the process makes of it;
//! * `dispatcher` (a driver of the pure `scheduler` and `fair_queue`) lets calls through to the process, one permit each,
//!   owners in turn; it knows which call a message of the process belongs to (`attribution`);
//! * `process` is one tool process in service, with the middleware around its calls;
//! * `from_tool` handles messages that the process sends by itself: tool list control, logs, requests to clients;
//! * `core` decides about generations: a pure machine, inputs in, effects out. `driver` applies its effects, and its
//!   `launcher` starts each generation;
//! * `diagnostics` are the texts of errors and reports;
//! * `compat` holds the workarounds for published SDKs.
//!
//! ```no_run
//! use protomcp_bridge::{Bridge, ToolFile};
//! use protomcp_transport::stdio;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let bridge = Bridge::tool_file(&ToolFile::new("tools.py")).start().await?;
//! bridge.serve(stdio()?).await?;
//! bridge.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! A program that embeds a bridge calls [`guardian::run_if_requested`] first thing in its `main`; see there for what that
//! is good for and what is left without it.

mod bridge;
mod builder;
mod call;
mod catalog;
mod clock;
mod compat;
mod core;
mod diagnostics;
mod dispatcher;
mod driver;
pub mod duration;
mod exposition;
mod from_tool;
#[cfg(fuzzing)]
pub mod fuzzing;
mod generation;
mod handler;
mod metrics;
mod process;
mod run;
mod tool_file;

pub use bridge::Bridge;
pub use builder::{Builder, Starting};
pub use catalog::arguments::ArgumentPolicy;
pub use catalog::tool::SchemaPolicy;
pub use core::io::ReloadMode;
pub use core::list::ToolLists;
pub use diagnostics::setting::Setting;
pub use diagnostics::start_error::StartError;
pub use exposition::BridgeMetrics;
pub use protomcp_link::EndpointError;
pub use protomcp_schema::ERROR_META;
pub use protomcp_supervisor::{Command, Guardian, StopPolicy};
pub use protomcp_supervisor::{guardian, open_files};
pub use protomcp_watch::Watch;
pub use run::{Run, RunError, RunHandle};
pub use tool_file::ToolFile;
