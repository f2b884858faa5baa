//! Sessions with our own server in memory, in both eras.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod changes;
mod ends;
mod lists;
mod questions;
mod server;
mod tasks;
