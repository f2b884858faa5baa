//! MCP sessions, services, layers, handlers and transports.
mod context;
mod handler;
mod info;
pub mod layer;
mod outbox;
mod request;
mod router;
mod server;
mod service;
mod session;
pub mod transport;

pub use context::Context;
pub use handler::Handler;
pub use info::{Limits, ServerInfo};
pub use request::{ServerRequest, ServerResult};
pub use router::Router;
pub use server::{Audience, ServeError, Server, Sessions};
pub use service::{Layer, Service};
pub use session::{CallId, Client, Inbound, IncomingCall, Session, SessionId, SessionView, Ticket};
