//! The transport over real sockets: against the server of this project, and against servers that misbehave.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod authorization;
mod authorizing;
mod bodies;
mod cuts;
mod listening;
mod old_servers;
mod order;
mod own_server;
mod peer;
mod proxies;
mod redirects;
mod resuming;
mod reuse;
mod script;
mod sessions;
#[cfg(feature = "tls")]
mod tls;
mod with_client;
