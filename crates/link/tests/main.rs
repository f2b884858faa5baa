//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.
//! `memory` is a separate program, because it reads the memory of its process.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "driver")]
mod driver;
mod machine;
mod vectors;
