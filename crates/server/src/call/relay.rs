//! Requests that a transport relays for clients elsewhere.
//!
//! A session has one client. A transport whose other end serves several clients, such as the bridge of a tool process,
//! names the client of each request, and carries the questions and tasks of its call in a way of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protomcp_toollist::Command;
use protomcp_types::{Level, Progress, RawJson};

use crate::call::call_info::CallInfo;
use crate::call::client_request::ProgressCallback;
use crate::call::outlet::{Answers, Outlet};
use crate::call::session_queue::SessionQueue;
use protomcp_session::{AskError, CallerKey, ClientInfo, InputRequest, TaskOptions};

/// The way back to the client of a relayed request, for the [`Context`](crate::Context) of its call.
///
/// A source of messages returns it as [`Relayed`] among the extensions of the request
/// ([`Source::extensions`](protomcp_transport::Source::extensions)). It counts in sessions; requests of the stateless
/// revision bring their client with them.
pub trait Relay: fmt::Debug + Send + Sync + 'static {
    /// The client of the request; `None`: the client of the session.
    fn client(&self) -> Option<Arc<ClientInfo>> {
        None
    }

    /// The caller of the request, for limits and state that belong to callers; `None`: the session. Its conversation is
    /// also the session of the call; a [`Conversation::Connection`](crate::Conversation) is none.
    fn caller(&self) -> Option<CallerKey> {
        None
    }

    /// Asks the client all of these questions together. The answers come in the order of the questions; dropping the
    /// future takes the questions back. `timeout` is the time for all of them.
    fn ask(
        &self,
        questions: Vec<InputRequest>,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Vec<RawJson>, AskError>>;

    /// True if the call may continue as a task.
    fn can_be_task(&self) -> bool {
        false
    }

    /// True if the call continues as a task.
    fn is_task(&self) -> bool {
        false
    }

    /// Continues the call as a task. Not called unless [`Relay::can_be_task`].
    fn continue_as_task(&self, options: TaskOptions) {
        let _ = options;
    }

    /// Sets the status message of the task.
    fn set_task_message(&self, message: &str) {
        let _ = message;
    }

    /// Changes the tools that the client of the request sees, and returns the names of those that it sees then, sorted.
    /// `None`: the transport selects no tools.
    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        let _ = change;
        None
    }
}

/// The extension of a `tools/list` of a transport itself, which selects tools for its clients.
#[derive(Debug, Clone, Copy)]
pub struct ListsHidden;

impl ListsHidden {
    /// The member of `_meta` in the definition of a hidden tool; `true`.
    pub const MARK: &'static str = "protomcp/hidden";
}

/// The extension of a request that holds its [`Relay`].
#[derive(Debug, Clone)]
pub struct Relayed(Arc<dyn Relay>);

impl Relayed {
    /// An extension for one request.
    pub fn new(relay: Arc<impl Relay>) -> Self {
        Self(relay)
    }

    pub(crate) fn relay(&self) -> &Arc<dyn Relay> {
        &self.0
    }
}

/// The way back from a relayed call: progress and log messages pass the queue of the session, the rest its relay.
#[derive(Debug)]
pub(crate) struct RelayedCall {
    pub(crate) relay: Arc<dyn Relay>,
    pub(crate) queue: Arc<SessionQueue>,
}

impl Outlet for RelayedCall {
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool {
        self.queue.send_progress(info, progress)
    }

    fn send_log(&self, info: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson) {
        self.queue.send_log(info, level, logger, data);
    }

    fn ask_client(
        self: Arc<Self>,
        _: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        _: Option<ProgressCallback>,
    ) -> Answers {
        self.relay.ask(questions, timeout)
    }

    fn can_be_task(&self) -> bool {
        self.relay.can_be_task()
    }

    fn is_task(&self) -> bool {
        self.relay.is_task()
    }

    fn continue_as_task(&self, options: TaskOptions) {
        if self.relay.can_be_task() {
            self.relay.continue_as_task(options);
        }
    }

    fn set_task_message(&self, message: &str) {
        self.relay.set_task_message(message);
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        self.relay.select_tools(change)
    }
}
