#![doc = include_str!("../README.md")]

mod ask;
mod call_info;
mod cancel;
mod catch_unwind;
mod client_request;
mod context;
#[cfg(feature = "contract-tests")]
pub mod contract;
mod current_call;
mod ended;
mod fair;
mod handler;
mod input_loop;
mod kept_tasks;
mod large_work;
pub mod layer;
mod listen_guard;
mod listener_store;
#[cfg(feature = "tracing-layer")]
mod log_layer;
mod mrtr;
mod node;
mod observer;
mod outgoing_layer;
mod overload;
mod parked;
mod parked_directory;
mod relay;
mod router;
mod server;
mod service;
mod session_directory;
mod session_notice;
mod session_queue;
mod store_future;
mod stores;
mod task_record;
mod task_store;
mod task_table;
mod task_writer;
mod tasks;

pub use ask::Ask;
pub use context::{Context, HeldQuestions};
pub use ended::Reserved;
pub use handler::Handler;
pub use large_work::{LargeWork, Turn, Worker};
pub use listener_store::{ListenerStore, MemoryListeners};
#[cfg(feature = "tracing-layer")]
pub use log_layer::LogLayer;
pub use node::NodeId;
pub use observer::SessionObserver;
pub use outgoing_layer::OutgoingLayer;
pub use parked_directory::{LocalParked, ParkedDirectory, ParkedRecord};
#[doc(no_inline)]
pub use protomcp_session::{
    AskError, Budget, CacheHints, CallerIdentity, CallerKey, ClientInfo, Conversation, Extensions, InputRequest,
    InputRequests, InputRequired, InputResponses, Limits, List, OverBudget, Owner, RequestStateKeys, Reservation,
    ServerInfo, ServerRequest, ServerResult, SessionId, SessionView, StatelessMeta, TaskEra, TaskLimits, TaskOptions,
    TaskState,
};
pub use relay::{ListsHidden, Relay, Relayed};
pub use router::Router;
pub use server::{ACCESS_TARGET, CloseReason, Peer, Replies, ServeError, Server, ServerHandle, SessionHandle};
pub use service::{Layer, Service};
pub use session_directory::{LocalSessions, SessionDirectory, SessionRecord};
pub use session_notice::{Audience, SessionNotice};
pub use store_future::StoreFuture;
pub use stores::Stores;
pub use task_record::{TaskKey, TaskRecord};
pub use task_store::{MemoryTaskStore, TaskStore, TaskUpdate};
pub use tasks::Tasks;
