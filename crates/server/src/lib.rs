#![doc = include_str!("../README.md")]

mod call;
#[cfg(feature = "contract-tests")]
pub mod contract;
pub mod layer;
mod records;
mod serve;
mod service;
mod state;

pub use call::ask::Ask;
pub use call::call_info::CallInfo;
pub use call::client_request::ProgressCallback;
pub use call::context::Context;
pub use call::context::asking::HeldQuestions;
pub use call::ended::Reserved;
pub use call::outlet::Outlet;
#[cfg(feature = "tracing-layer")]
pub use layer::log_layer::LogLayer;
#[doc(no_inline)]
pub use protomcp_fair::{Budget, OverBudget, Owner, Reservation};
#[doc(no_inline)]
pub use protomcp_session::{
    AskError, CacheHints, CallerIdentity, CallerKey, ClientInfo, Conversation, Extensions, InputRequest, InputRequests,
    InputRequired, InputResponses, KeyFileError, Limits, List, RequestStateKeys, RestoredSession, SealingSecret,
    ServerInfo, ServerRequest, ServerResult, SessionId, SessionState, SessionView, StatelessMeta, TaskEra, TaskLimits,
    TaskOptions, TaskState,
};
pub use records::claim::{Claim, FencingToken};
pub use records::lease::{Lease, LeaseAction, LeaseTerms};
pub use records::lease_name::LeaseName;
pub use records::lease_store::{LeaseStore, MemoryLeases, StoreAnswer};
pub use records::listener_store::{ListenerStore, MemoryListeners};
pub use records::node::NodeId;
pub use records::notice_bus::{LocalNotices, NoticeBus, NoticeReceiver};
pub use records::notice_record::NoticeRecord;
pub use records::session_notice::{Audience, SessionNotice};
pub use records::session_snapshot::SessionSnapshot;
pub use records::store_error::StoreError;
pub use records::store_future::StoreFuture;
pub use records::stores::Stores;
pub use records::task_record::{TaskKey, TaskRecord};
pub use records::task_store::{MemoryTaskStore, TaskStore};
pub use records::task_update::TaskUpdate;
pub use serve::Server;
pub use serve::access_log::ACCESS_TARGET;
pub use serve::membership::{CallFacts, MemberNotice, MemberQuestion, Membership};
pub use serve::peer::Peer;
pub use serve::running_call::RunningCall;
pub use serve::serve_error::ServeError;
pub use serve::session_handle::{CloseReason, SessionHandle};
pub use serve::stateless::Replies;
pub use serve::stateless::single::{SingleAnswer, SingleCaller, SingleReports};
pub use service::handler::Handler;
pub use service::large_work::{LargeWork, Turn, Worker};
pub use service::observer::SessionObserver;
pub use service::outgoing_layer::OutgoingLayer;
pub use service::router::Router;
pub use service::tasks::Tasks;
pub use service::{Layer, Service};
pub use state::handle::ServerHandle;
pub use state::held_lease::HeldLease;
pub use state::lease_keeper::LeaseKeeper;
