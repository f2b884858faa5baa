//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.
//! `decoded` is a separate program, because its allocator counts.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "tokio")]
mod framed;
mod golden;
#[cfg(feature = "zstd")]
mod inflate;
mod limits;
mod properties;
mod results;
mod streams;
#[cfg(unix)]
mod tool_peer;
