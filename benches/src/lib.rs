//! Benches per layer, and the measurement of the whole bridge.
//!
//! The layers have a bench each, in `benches`: `cargo bench -p protomcp-benches --bench framing`. The whole bridge is
//! measured by the program `roundtrip`, which drives several [`Subject`]s through the same work in turns, so that what
//! else the machine does falls on all of them alike:
//!
//! - a relay that parses nothing, the floor: standard input to a unix socket and back, and a tool process behind it;
//! - `pmcp` with the codec's example of a tool process;
//! - an `rmcp` server with the tool inside, so without a second process.
//!
//! The program `reload` measures how long a save takes to reach the host, beside the start of the tool process alone.
//!
//! Over HTTP the program `http` does the same beside `rmcp` and measures what sessions cost; `load` lasts as long as asked and
//! watches the memory.
//!
//! Absolute figures move with the machine; what counts is the ratio within one run, and the processor time per call.

mod client;
mod figures;
mod process;
mod programs;
mod subject;
mod web;

pub use client::Client;
pub use figures::{Figures, Measured, micros, millis};
pub use process::{cpu, memory, peak};
pub use programs::Programs;
pub use subject::Subject;
pub use web::{Reply, WebClient, WebServer};
