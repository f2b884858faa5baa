#![doc = include_str!("../README.md")]

mod availability;
mod bridge;
mod builder;
mod call;
mod cargo_project;
mod catalog;
mod clock;
mod compat;
mod core;
mod diagnostics;
mod dispatcher;
mod driver;
mod duration;
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

pub use availability::Availability;
pub use bridge::Bridge;
pub use builder::{Builder, Starting};
pub use catalog::arguments::ArgumentPolicy;
pub use catalog::tool::SchemaPolicy;
pub use core::io::ReloadMode;
pub use core::list::ToolLists;
pub use diagnostics::setting::Setting;
pub use diagnostics::start_error::StartError;
pub use exposition::BridgeMetrics;
pub use protomcp_link::{EndpointError, HandshakeError};
pub use protomcp_schema::ERROR_META;
pub use protomcp_supervisor::{Command, Exit, Guardian, SpawnError, Status, StopPolicy};
pub use protomcp_supervisor::{guardian, open_files};
pub use protomcp_watch::{Filter, Watch};
pub use run::{Run, RunError, RunHandle};
pub use tool_file::ToolFile;
