#![doc = include_str!("../README.md")]

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
pub use outgoing::CallId;
pub use pending::RequestKey;
pub use request::{ServerRequest, ServerResult};
pub use request_state::{RequestBinding, RequestDigest, RequestState, RequestStateKeys};
pub use server::{Inbound, IncomingCall, RetryInput, Session, StatelessInfo};
pub use subscriptions::{Subscriptions, Topic, Wanted};
pub use task_view::{TaskDetail, TaskOptions, TaskView};
