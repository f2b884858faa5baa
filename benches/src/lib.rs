//! The bench of the whole bridge: `cargo bench -p protomcp-benches --bench bridge`. Single layers have benches in
//! `protomcp-layers`.
//!
//! Several [`Subject`](subject::Subject)s, real programs, do the same work in turns, so that other load on the machine
//! affects them alike:
//!
//! - a relay that parses nothing, the lower bound: standard input to a unix socket and back, with a tool process behind
//!   it;
//! - `pmcp` with the codec's example of a tool process, and other builds of it;
//! - an `rmcp` server with built-in tools, so without a second process.
//!
//! Each part in [`parts`] adds rows to a [`Measurement`](measurement::Measurement) in every round. A
//! [`Report`](report::Report) is the circumstances of a run and its rows: a file of all figures, and tables with the
//! goals and the exponents of growth curves.
//!
//! Absolute figures depend on the machine; compare ratios within one run, and the processor time of a call.

pub mod bench;
pub mod client;
pub mod fit;
pub mod goals;
pub mod machine;
pub mod measurement;
pub mod options;
pub mod parts;
pub mod pinned;
pub mod plot;
pub mod process;
pub mod programs;
pub mod protocol_client;
pub mod report;
pub mod subject;
pub mod tables;
pub mod web;

mod run;

pub use run::run;
