//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "client")]
mod oauth;
