#![doc = include_str!("../README.md")]

mod bridge;
mod call_outlet;
mod config;
mod error;
mod exchange;
mod features;
mod handover;
#[cfg(feature = "harness")]
mod harness;
mod middleware;
mod outgoing;
mod reports;
mod run;
mod serving;
mod step;
mod tasks;

pub use config::Config;
pub use error::RunError;
pub use handover::Handover;
#[cfg(feature = "harness")]
pub use harness::{Harness, HarnessError, TestClient};
pub use middleware::{InterceptedCall, InterceptedResult, Middleware, Verdict};
pub use protomcp_envelope::{Principal, RequestContext};
pub use run::{run, run_with, serve};
