//! The design that this library follows, sample by sample: its statements about servers, as tests.
//!
//! The names in the comments come from the design; conformance/SEED.md maps its rows to tests.

mod logging;
mod middleware;
mod prompts;
mod resources;
mod sessions;
mod tools;
mod transports;
