#![doc = include_str!("../README.md")]

mod ask_error;
mod batch;
mod caller;
mod caller_identity;
mod canonical;
mod client;
mod client_info;
mod cursors;
mod expected;
mod extensions;
mod info;
mod input;
mod interest;
mod keepalive;
mod key_file;
mod list_changed;
mod mrtr;
mod no_answer;
mod outgoing;
mod pending;
mod request;
mod request_state;
mod sealing_secret;
mod server;
mod session_id;
mod session_state;
mod stateless_meta;
mod subscriptions;
mod task_limits;
mod task_state;
mod task_view;
mod topic;

pub use ask_error::AskError;
pub use batch::Batches;
pub use caller::{CallerKey, Conversation};
pub use caller_identity::CallerIdentity;
pub use client::{
    AnswerFacts, Channel, ClientConfig, ClientConnection, ClientEvent, ClientLimits, CloseReason, Mode, OpenError,
    OutgoingCall, Pings, RequestError, RequestFacts, ServerQuestion, ServerView, TaskNotice, TaskWish, Transmit,
};
pub use client_info::{ClientInfo, SessionView};
pub use cursors::{Cursors, EndlessList, MAX_PAGES, NextPage};
pub use extensions::Extensions;
pub use info::{CacheHints, Limits, ServerInfo};
pub use input::{InputCheck, InputRequest, InputRequests, InputRequired, InputResponses};
pub use interest::Wanted;
pub use keepalive::{KeepAlive, KeepAliveAction};
pub use key_file::KeyFileError;
pub use list_changed::{List, ListChangedDebounce, ListScope};
pub use mrtr::{Asked, AskedInput, CallOutcome, Detached, Finished, Resumed, RoundTrips};
pub use no_answer::{HttpStatus, NoAnswer};
pub use outgoing::CallId;
pub use pending::{Attempt, RequestKey};
pub use request::{ServerRequest, ServerResult};
pub use request_state::{
    ParkedState, RequestBinding, RequestDigest, RequestState, RequestStateError, RequestStateKeys,
};
pub use sealing_secret::SealingSecret;
pub use server::{
    Inbound, IncomingCall, RetryInput, Session, Stateless, StatelessCall, StatelessInfo, StatelessRequest,
};
pub use session_id::SessionId;
pub use session_state::{RestoredSession, SessionState};
pub use stateless_meta::{KnownMeta, StatelessMeta};
pub use subscriptions::Subscriptions;
pub use task_limits::TaskLimits;
pub use task_state::{TaskEra, TaskOutcome, TaskState};
pub use task_view::{TaskAnswer, TaskDetail, TaskOptions, TaskView};
pub use topic::Topic;
