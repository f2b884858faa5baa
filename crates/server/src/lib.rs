//! MCP servers: a service answers requests, layers wrap it, and any transport brings the clients.
//!
//! A message comes in through a transport, the session says what it means, the [`Server`] starts a task for a call, the
//! layers and at last the [`Service`] answer it, the session shapes the answer for the negotiated revision, and the
//! transport writes it:
//!
//! ```text
//! Source::next → Session::receive → Layer … Service::call → Session::reply → Sink::send
//! ```
//!
//! The session (`protomcp-session`) is a value without I/O, and the transport (`protomcp-transport`) knows no sessions. The
//! server between them owns tasks, clock and connection. The progress and log messages of a call go through its [`Context`]
//! and stay in front of its answer; messages to other sessions go through [`ServerHandle`]. Questions for the client
//! ([`Context::ask`]) take the same way, and their answers come back through the session.
//!
//! With the feature `tracing-layer`, `LogLayer` shows the program's own log to hosts; with `tower`, layers of that
//! ecosystem are layers of a server.
//!
//! ```
//! use protomcp_server::{Context, Handler, Server, ServerInfo};
//! use protomcp_transport::memory;
//! use protomcp_types::{CallTool, CallToolResult, ErrorObject};
//!
//! struct Greeter;
//!
//! impl Handler for Greeter {
//!     fn info(&self) -> ServerInfo {
//!         ServerInfo::new("greeter", "1.0")
//!     }
//!
//!     async fn call_tool(&self, call: CallTool, _: Context) -> Result<CallToolResult, ErrorObject> {
//!         match call.name.as_str() {
//!             "greet" => Ok(CallToolResult::text("hello")),
//!             name => Err(ErrorObject::unknown_tool(name)),
//!         }
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let (host, ours) = memory::pair();
//! drop(host);
//! Server::from_handler(Greeter).serve(ours).await.unwrap();
//! # });
//! ```

mod again;
mod ask;
mod cancel;
mod context;
mod ended;
mod fair;
mod handler;
mod host_request;
pub mod layer;
mod listen_guard;
#[cfg(feature = "tracing-layer")]
mod log_layer;
mod observer;
mod outbox;
mod outgoing_layer;
mod overload;
mod panics;
mod parked;
mod rounds;
mod router;
mod server;
mod service;
mod task_store;
mod task_text;
mod tasks;
mod terms;

pub use context::Context;
pub use handler::Handler;
#[cfg(feature = "tracing-layer")]
pub use log_layer::LogLayer;
pub use observer::SessionObserver;
pub use outgoing_layer::OutgoingLayer;
#[doc(no_inline)]
pub use protomcp_session::{
    AskError, Budget, CacheHints, CallerKey, ClientInfo, Conversation, Extensions, InputRequests, InputRequired,
    InputResponses, Limits, OverBudget, Owner, RequestStateKeys, Reservation, ServerInfo, ServerRequest, ServerResult,
    SessionId, SessionView, TaskOptions,
};
pub use router::Router;
pub use server::{Audience, CloseReason, ServeError, Server, ServerHandle, SessionHandle};
pub use service::{Layer, Service};
pub use tasks::Tasks;
