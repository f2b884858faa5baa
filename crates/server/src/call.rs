//! One call: its context, its questions to the client, its rounds, its task, and the queue of its session.
//!
//! Uses the records alone.

pub(crate) mod ask;
pub(crate) mod call_info;
pub(crate) mod catch_unwind;
pub(crate) mod client_request;
pub(crate) mod context;
pub(crate) mod current_call;
pub(crate) mod ended;
pub(crate) mod kept_tasks;
pub(crate) mod listen_guard;
pub(crate) mod mrtr;
pub(crate) mod outlet;
pub(crate) mod parked;
pub(crate) mod session_queue;
pub(crate) mod session_task;
