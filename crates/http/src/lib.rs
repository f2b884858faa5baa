//! Streamable HTTP for MCP servers: all five revisions on one endpoint, as a service for any HTTP server.
//!
//! ```text
//! request → guard (Host, Origin) → method, Accept, Content-Type → auth → one JSON scan → era
//!    handshake, session → the task of the session reads the message; its streams carry the replies
//!    2026-07-28         → headers repeat the body? → an `HttpSession` for this request alone
//! ```
//!
//! `protomcp_server` serves the sessions; each `HttpSession` is a transport for it. This crate assigns each message to a
//! response (`streams`, a value without I/O), keeps events for clients that reconnect (`store`), and rejects foreign
//! origins and requests without credentials (`guard`, `auth`).
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
mod endpoint;
mod events;
mod exposition;
mod fair_table;
mod forwarded;
#[cfg(fuzzing)]
pub mod fuzzing;
mod get;
mod guard;
mod headers;
mod http_session;
mod http_sse;
mod log_rate;
mod metrics;
mod needed_scopes;
mod network;
mod pending_requests;
mod post;
mod protocol_era;
mod readiness;
mod reply;
mod reserved;
mod routes;
#[cfg(feature = "listener")]
mod serve;
mod service;
mod session_table;
mod sse;
mod stateless_headers;
mod store;
mod streams;

pub use caller::{ClientAddr, Connection, PeerAddr, Principal};
pub use config::{Config, Disallowed, RejectionHint};
pub use credential::Credential;
pub use exposition::HttpMetrics;
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
