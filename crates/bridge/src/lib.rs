//! One tool process as one MCP server, with hot reload.
//!
//! A [`Bridge`] starts a tool process, learns its tools over the link, and serves them to any number of hosts. When files
//! change, a new generation of the process takes over without any host noticing: no call is lost, and a version that
//! does not start changes nothing.
//!
//! Who does what, from the host to the tool process:
//!
//! * `backend` answers hosts. It reads the list from an immutable `snapshot`, so that no request waits for another;
//! * `catalog` is what the process has beside tools, `listing` how lists are handed out in pages;
//! * `dispatcher` (a driver of the pure `lane` and `fair_queue`) lets calls through to the living process, one permit each,
//!   owners in turn;
//! * `questions` are what the process asks of hosts; `attribution` knows whose call each of them belongs to, `served`
//!   which owners a process has worked for, and `asking` which question is taken back when others wait for its place;
//! * `calls` takes one call to its result, `follow` a task that the process makes of it;
//! * `intercept` runs the middleware of the tool process around each call;
//! * `convert` turns the process's answers into results, `failure` what went wrong into results a model can read;
//! * `core` decides about generations: a pure machine, inputs in, effects out. `run` carries its effects out;
//! * `starter` brings one generation to life; `live` is what the others hold of it.
//!
//! ```no_run
//! use protomcp_bridge::{Bridge, ToolFile};
//! use protomcp_mcp::transport::stdio::stdio;
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

mod arguments;
mod asking;
mod attribution;
mod backend;
mod bridge;
mod budget;
mod builder;
mod calls;
mod catalog;
mod cause;
mod control;
mod convert;
mod core;
mod dispatcher;
pub mod duration;
mod failure;
mod fair_queue;
mod faults;
mod figures;
mod follow;
#[cfg(fuzzing)]
pub mod fuzzing;
mod generation;
mod inbox;
mod inline_events;
mod intercept;
mod lane;
mod linger;
mod listing;
mod live;
mod log_rate;
mod meter;
mod pages;
mod permit;
mod progress;
mod questions;
mod readers;
mod registered;
mod report;
mod run;
mod running;
mod schema;
mod sdk;
mod served;
mod snapshot;
mod starter;
mod tool;
mod tool_file;
mod watching;

pub use arguments::ArgumentPolicy;
pub use bridge::Bridge;
pub use builder::{Builder, Starting};
pub use core::list::ToolLists;
pub use core::signal::ReloadMode;
pub use failure::ERROR_META;
pub use protomcp_supervisor::{Command, Guardian, StopPolicy};
pub use protomcp_supervisor::{guardian, open_files};
pub use protomcp_watch::Watch;
pub use starter::StartError;
pub use tool::SchemaPolicy;
pub use tool_file::ToolFile;
