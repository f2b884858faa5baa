#![doc = include_str!("../README.md")]

mod call;
mod capture;
mod config;
mod error;
mod exchange;
mod features;
mod handover;
#[cfg(feature = "harness")]
mod harness;
mod middleware;
mod outgoing;
mod relay;
mod run;
mod step;
mod tasks;
mod transport;

pub use config::Config;
pub use error::RunError;
pub use handover::Handover;
#[cfg(feature = "harness")]
pub use harness::{Harness, HarnessError, TestClient};
pub use middleware::{InterceptedCall, InterceptedResult, Middleware, Verdict};
pub use protomcp_proto::{Principal, RequestContext};
pub use run::{run, run_with, serve};
