//! One MCP conversation as a value: versions, lifecycle, correlation and cancellation, without I/O.
//!
//! A [`Session`] takes messages in and says what is to be done about them; answers go in and come out as messages, shaped
//! as the revision of their request wants them. Around it stand the vocabulary of both ends (requests, results, questions
//! and answers, limits) and small machines that take the time as an argument: change notices, keep-alive, subscriptions,
//! budgets of bytes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use protomcp_session::{Inbound, ServerInfo, Session};
//! use protomcp_types::{Message, Params, RequestId};
//!
//! let mut session = Session::server(Arc::new(ServerInfo::new("greeter", "1.0")), 16);
//! let ping = Message::request(RequestId::from(1), "ping", Params::Absent);
//! assert!(matches!(session.receive(ping), Inbound::Reply(_)));
//! ```
//!
//! Nothing in here waits, reads a clock or opens a connection: `protomcp-server` does.

mod ask_error;
mod batch;
mod budget;
mod caller;
mod canonical;
mod client_info;
mod extensions;
mod info;
mod input;
mod keepalive;
mod list_changed;
mod numbers;
mod outgoing;
mod pending;
mod request;
mod request_state;
mod server;
mod subscriptions;
mod task_view;

pub use ask_error::AskError;
pub use batch::Batches;
pub use budget::{Budget, OverBudget, Reservation};
pub use caller::{CallerKey, Conversation, Owner};
pub use client_info::{ClientInfo, SessionId, SessionView};
pub use extensions::Extensions;
pub use info::{CacheHints, Limits, ServerInfo};
pub use input::{InputCheck, InputRequest, InputRequests, InputRequired, InputResponses};
pub use keepalive::{KeepAlive, KeepAliveAction};
pub use list_changed::{List, ListChangedDebounce};
pub use numbers::ByNumber;
pub use outgoing::CallId;
pub use pending::RequestKey;
pub use request::{ServerRequest, ServerResult};
pub use request_state::{RequestBinding, RequestDigest, RequestState, RequestStateKeys};
pub use server::{Inbound, IncomingCall, RetryInput, Session, StatelessInfo};
pub use subscriptions::{Subscriptions, Topic, Wanted};
pub use task_view::{TaskDetail, TaskOptions, TaskView};
