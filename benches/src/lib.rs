//! The measurement of the whole bridge; single layers have benches in `protomcp-layers`.
//!
//! The program `roundtrip` measures the whole bridge: it drives several [`Subject`]s through the same work in turns, so that other load on the
//! machine affects them alike:
//!
//! - a relay that parses nothing, the lower bound: standard input to a unix socket and back, with a tool process behind
//!   it;
//! - `pmcp` with the codec's example of a tool process;
//! - an `rmcp` server with a built-in tool, so without a second process.
//!
//! The program `reload` measures the time from a save to the host's notification, compared with the bare start of the
//! tool process.
//!
//! The program `http` does the same over HTTP in comparison with `rmcp` and measures the cost of sessions; `load` runs
//! for the given time and watches the memory. The program `clients` measures the client and the one of `rmcp`, and the
//! gateway and a direct connection; `protocols` measures proto-mcp and JSON-RPC, in the server and in the client.
//!
//! Absolute figures depend on the machine; compare ratios within one run, and the processor time per call.

mod client;
mod figures;
mod flags;
mod process;
mod programs;
mod protocol_client;
mod subject;
mod web;

pub use client::Client;
pub use figures::{Figures, Measured, micros, millis};
pub use flags::flags;
pub use process::{cpu, memory, peak};
pub use programs::Programs;
pub use protocol_client::{Protocol, ProtocolClient};
pub use subject::Subject;
pub use web::{Reply, WebClient, WebServer};

/// The text of calls.
pub const TEXT: &str =
    "some words that make this call about as long as calls usually are, a few hundred bytes with what is around it";
