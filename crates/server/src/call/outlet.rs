//! The way back from a running call to its client.
//!
//! Each kind of call has one: the queue of its session, a task of that session, the rounds of a stateless call, or a
//! transport that serves the client elsewhere. A [`Context`](crate::Context) knows no more of its client than this.

mod in_session;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protomcp_toollist::Command;
use protomcp_types::{Level, Progress, RawJson};

use crate::call::call_info::CallInfo;
use crate::call::client_request::ProgressCallback;
use protomcp_session::{AskError, InputRequest, TaskOptions};

/// The answers to questions, in their order.
pub(crate) type Answers = BoxFuture<'static, Result<Vec<RawJson>, AskError>>;

/// The way back from a running call to its client. `info` has the facts about the request of the call.
pub(crate) trait Outlet: fmt::Debug + Send + Sync {
    /// Sends progress. Returns true if it was sent, or waits until it can be.
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool;

    /// Sends a log message, if the client wants messages of this level.
    fn send_log(&self, info: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson);

    /// Asks the client all of these questions together, within `timeout`. Dropping the future takes them back. The
    /// progress that the client makes with them goes to `progress`, if there is a way for it.
    fn ask_client(
        self: Arc<Self>,
        info: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        progress: Option<ProgressCallback>,
    ) -> Answers;

    /// True if the call is a task or can become one.
    fn can_be_task(&self) -> bool {
        false
    }

    /// True if the call is a task.
    fn is_task(&self) -> bool {
        false
    }

    /// Continues the call as a task, if it can become one.
    fn continue_as_task(&self, options: TaskOptions) {
        let _ = options;
    }

    /// Sets the status message of the task, if the call is one.
    fn set_task_message(&self, message: &str) {
        let _ = message;
    }

    /// True if the transport serves the client elsewhere.
    fn is_relayed(&self) -> bool {
        false
    }

    /// Changes the tools that the client sees, and returns their names; `None`: they are not selected on this way.
    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        let _ = change;
        None
    }
}
