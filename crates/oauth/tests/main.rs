//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "flow")]
mod authorization;
#[cfg(feature = "driver")]
mod oauth_client;
