//! MCP sessions, services, layers, handlers and transports.
//!
//! A message comes in through a [`transport`], the [`Session`] says what it means, the [`Server`] starts a task for a
//! call, the layers and at last the [`Service`] answer it, the session shapes the answer for the negotiated revision,
//! and the transport writes it:
//!
//! ```text
//! Source::next → Session::receive → Layer … Service::call → Session::reply → Sink::send
//! ```
//!
//! The session is a value without I/O. The server around it decides little: it owns tasks, clock and connection. What
//! a call reports while it runs (progress, log messages) goes through its [`Context`] and stays in front of its answer;
//! what concerns other sessions goes through [`Sessions`]. Questions for the host ([`Context::ask`]) take the same way, and
//! their answers come back through the session.
//!
//! With the feature `tracing-layer`, `LogLayer` shows the program's own log to hosts; with `tower`, layers of that
//! ecosystem are layers of a server.
//!
//! ```
//! use protomcp_mcp::{Context, Handler, Server, ServerInfo, transport::memory};
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
//! Server::of(Greeter).serve(ours).await.unwrap();
//! # });
//! ```

mod again;
mod ask;
mod ask_error;
mod budget;
mod caller;
mod cancel;
mod canonical;
mod context;
mod ended;
mod extensions;
mod fair;
mod handler;
mod host_request;
mod info;
pub mod layer;
mod listen_guard;
#[cfg(feature = "tracing-layer")]
mod log_layer;
mod outbox;
mod overload;
mod panics;
mod parked;
mod question;
mod request;
mod rounds;
mod router;
mod seal;
mod send_layer;
mod server;
mod service;
mod session;
mod task_store;
mod task_text;
mod task_view;
mod tasks;
mod terms;
pub mod transport;

pub use ask_error::AskError;
pub use budget::{Budget, OverBudget, Reservation};
pub use caller::{CallerKey, Conversation, Owner};
pub use context::Context;
pub use extensions::Extensions;
pub use handler::Handler;
pub use info::{CacheHints, Limits, ServerInfo};
#[cfg(feature = "tracing-layer")]
pub use log_layer::LogLayer;
pub use question::{Answers, InputRequired, Questions};
pub use request::{ServerRequest, ServerResult};
pub use router::Router;
pub use seal::StateKeys;
pub use send_layer::SendLayer;
pub use server::{Audience, Connected, Reason, ServeError, Server, Sessions};
pub use service::{Layer, Service};
pub use session::{CallId, Client, Inbound, IncomingCall, Inputs, Session, SessionId, SessionView, Stateless, Ticket};
pub use task_view::TaskTerms;
pub use tasks::Tasks;
