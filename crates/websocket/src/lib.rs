#![doc = include_str!("../README.md")]

mod client;
mod close;
mod counts;
#[cfg(feature = "server")]
mod handshake;
mod heartbeat;
mod messages;
mod options;
#[cfg(feature = "server")]
mod protocol;
mod pump;
mod serve;

pub use client::{InvalidTarget, WebSocketServer};
pub use close::WebSocketError;
pub use options::WebSocketOptions;
#[cfg(feature = "server")]
pub use protocol::WebSockets;
pub use serve::serve;

/// The subprotocol of proto-mcp in the handshake.
pub const SUBPROTOCOL: &str = "proto-mcp.v1";
