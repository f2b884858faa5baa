//! Sessions with our own server in both eras, in memory and over HTTP.

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
pub(crate) mod server;
mod tasks;
