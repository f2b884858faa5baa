//! The server over real sockets, as a client meets it: one file per topic.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says why it ends")]

mod asking;
mod batch;
mod callers;
mod client;
mod connections;
mod cuts;
mod draining;
mod early;
mod eras;
#[cfg(feature = "contract-tests")]
mod event_store;
mod expiry;
mod handler;
mod heads;
mod http2;
mod legacy;
mod limits;
mod listening;
mod metrics;
mod oauth;
mod protocols;
mod questions;
mod reordered;
mod requests;
mod results;
mod resume;
mod safety;
mod sessions;
mod sharing;
mod takeover;
#[cfg(feature = "tls")]
mod tls;
