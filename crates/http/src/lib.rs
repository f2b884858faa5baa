//! Streamable HTTP for MCP servers: all five revisions on one endpoint, as a service for any HTTP server.
//!
//! ```text
//! request → guard (Host, Origin) → method, Accept, Content-Type → auth → one JSON scan → era
//!    handshake, session → exchange: the session's task reads what was POSTed; streams lead its messages back
//!    2026-07-28         → headers repeat the body? → an exchange of its own for this request
//! ```
//!
//! What a session means is the business of `protomcp_server`: each exchange is a transport of it. This crate decides which
//! response a message leaves by (`streams`, a value without I/O), keeps what a host may have missed (`store`), and
//! refuses whoever should not be there (`guard`, `auth`).
//!
//! ```
//! use protomcp_http::{Config, StreamableHttp};
//! use protomcp_server::{Handler, Server, ServerInfo};
//!
//! struct Empty;
//!
//! impl Handler for Empty {
//!     fn info(&self) -> ServerInfo {
//!         ServerInfo::new("empty", "1.0")
//!     }
//! }
//!
//! let mcp = StreamableHttp::new(Server::from_handler(Empty), Config::default());
//! let app: axum::Router = axum::Router::new().route_service("/mcp", mcp);
//! # drop(app);
//! ```

mod auth;
mod body;
mod caller;
mod config;
mod cors;
mod credential;
mod delete;
mod delivery;
mod endpoint;
mod era;
mod events;
mod exchange;
mod fair_table;
mod figures;
mod forwarded;
#[cfg(fuzzing)]
pub mod fuzzing;
mod get;
mod guard;
mod headers;
mod legacy;
mod log_rate;
mod modern;
mod needed_scopes;
mod network;
mod post;
mod readiness;
mod reply;
mod reserved;
mod routes;
#[cfg(feature = "listener")]
mod serve;
mod service;
mod session_table;
mod sse;
mod store;
mod streams;

pub use caller::{ClientAddr, Connection, PeerAddr, Principal};
pub use config::Config;
pub use credential::Credential;
pub use figures::MetricsPage;
pub use network::{InvalidNetwork, IpNetwork};
#[cfg(feature = "listener")]
pub use protomcp_listener::{Listener, ListenerConfig};
#[cfg(feature = "tls")]
pub use protomcp_listener::{Tls, TlsError};
pub use readiness::Readiness;
pub use reply::Body;
pub use routes::Routes;
#[cfg(feature = "listener")]
pub use serve::{Serve, serve};
pub use service::StreamableHttp;
pub use store::{EventKey, EventStore, MemoryStore, Replay, StoredEvent};
