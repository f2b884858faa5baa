//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
#[cfg(all(feature = "registry", feature = "validation"))]
mod descriptors;
mod frames;
mod fuzzed;
mod generated;
mod serve;
mod session;
