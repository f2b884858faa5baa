//! Sessions with our own server in memory, in both eras.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod caching;
mod calls;
mod changes;
mod ends;
mod exchanges;
mod lists;
mod questions;
mod script;
mod server;
mod tasks;
