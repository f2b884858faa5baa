//! Sessions with our own server in both eras, in memory and over HTTP.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod caching;
mod calls;
mod changes;
mod ends;
mod exchanges;
mod http;
mod lists;
mod load;
mod questions;
mod script;
mod server;
mod tasks;
