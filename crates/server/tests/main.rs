//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod sessions;
#[cfg(unix)]
mod stdio;
mod typed_calls;
