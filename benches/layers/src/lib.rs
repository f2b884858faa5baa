//! Operations of single layers, for their benches and for the counts of their instructions (`protomcp-instructions`).
//!
//! Each bench has a feature with its name and builds the dependencies of its layer alone:
//! `cargo bench -p protomcp-layers --features framing --bench framing`. All of them run with
//! `cargo bench -p protomcp-layers --all-features`.

#[cfg(feature = "jsonrpc")]
pub mod json;
#[cfg(feature = "link")]
pub mod link;
#[cfg(feature = "link")]
mod runtime;

#[cfg(feature = "link")]
pub use runtime::on_one_thread;
