//! proto-mcp over WebSocket: the server against a client of another library, and both ends together.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod drips;
mod pings;
mod server;
mod stage;
