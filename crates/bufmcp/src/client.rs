//! Clients of proto-mcp, over any stream of bytes, a network address or the standard streams of a child process.

#[cfg(feature = "command")]
mod command;
mod config;
mod connect;
#[cfg(unix)]
mod dead_peer;
mod driver;
mod error;
mod front;
mod handle;
mod handler;
mod lanes;
mod prompts;
mod session;
mod status;
mod subscriptions;
#[cfg(feature = "tls")]
mod tls;

#[cfg(feature = "command")]
pub use crate::client::command::{CommandReader, CommandServer, CommandWriter};
pub use crate::client::config::BinaryClientConfig;
pub use crate::client::connect::{AnyClient, Connect, ConnectAnyError, TcpServer};
pub use crate::client::error::{BinaryCallError, BinaryCloseReason};
pub use crate::client::handle::BinaryClient;
pub use crate::client::handler::BinaryBackend;
pub use crate::client::session::{BinaryClientEvent, BinaryClientSession, BinaryServerView};
pub use crate::client::status::Changed;
#[cfg(feature = "tls")]
pub use crate::client::tls::{InvalidServerName, TlsServer};
