#![doc = include_str!("../README.md")]

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
