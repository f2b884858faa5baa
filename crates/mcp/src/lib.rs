//! MCP in one dependency.
//!
//! This crate defines nothing: it names the parts of the project together. Each part is a crate of its own as well, for
//! programs that need no other.
//!
//! | feature | brings |
//! |---|---|
//! | `server` (default) | [`Server`], [`Handler`], [`Service`], [`Layer`], [`Context`] |
//! | `typed` | `Tool`, `Prompt`, `Resource` and `Registry`: servers from plain async functions |
//! | `http` | Streamable HTTP as a service for any HTTP server, and a listener; with `tls` for HTTPS |
//! | `bridge` | `Bridge`: one tool process as one MCP server, with hot reload |
//! | `tower`, `tracing-layer` | layers of tower around a server, and the program's own log for clients |
//!
//! Without any of them there are the vocabulary of MCP ([`types`]), the conversation as a value ([`session`]) and
//! [`transport`].
//!
//! ```
//! # #[cfg(feature = "typed")]
//! # mod example {
//! use protomcp_mcp::{Context, Registry, Tool, stdio};
//!
//! async fn whoami(context: Context) -> String {
//!     format!("You use {}.", context.client().name)
//! }
//!
//! async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//!     let tool = Tool::new("whoami", "The client of this conversation").handler(whoami).read_only();
//!     Registry::builder("example", "1.0").tool(tool).build()?.serve(stdio()?).await?;
//!     Ok(())
//! }
//! # }
//! ```

#[cfg(all(doctest, feature = "typed"))]
mod readme;

#[cfg(feature = "http")]
pub use protomcp_auth as auth;
#[cfg(feature = "bridge")]
pub use protomcp_bridge as bridge;
#[cfg(feature = "http")]
pub use protomcp_http as http;
#[cfg(feature = "server")]
pub use protomcp_server as server;
pub use protomcp_session as session;
pub use protomcp_transport as transport;
#[cfg(feature = "typed")]
pub use protomcp_typed as typed;
pub use protomcp_types as types;

#[cfg(feature = "bridge")]
pub use protomcp_bridge::{Bridge, ToolFile};
#[cfg(feature = "http")]
pub use protomcp_http::StreamableHttp;
#[cfg(feature = "server")]
pub use protomcp_server::{
    AskError, Audience, Context, Handler, Layer, Limits, Router, ServeError, Server, ServerHandle, ServerInfo, Service,
    SessionObserver, Tasks,
};
pub use protomcp_transport::{Transport, TransportError, stdio};
#[cfg(feature = "typed")]
pub use protomcp_typed::{Json, JsonSchema, Prompt, Registry, Resource, Template, Tool, ToolError};
