//! The way back from a running call to its client.
//!
//! Each kind of call has one: the queue of its session, a task of that session, the rounds of a stateless call, or the
//! outlet of a front outside of this crate. A [`Context`](crate::Context) knows no more of its client than this.

mod in_session;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use protomcp_toollist::Command;
use protomcp_types::{Level, Notification, Progress, RawJson};

use crate::call::call_info::CallInfo;
use crate::call::client_request::ProgressCallback;
use protomcp_session::{AskError, InputRequest, TaskOptions};

/// The answers to questions, in their order.
pub(crate) type Answers = BoxFuture<'static, Result<Vec<RawJson>, AskError>>;

/// Passes a report through the layers for outgoing messages. `None`: one of them withholds it.
pub(crate) type Layers = Arc<dyn Fn(Notification) -> Option<Notification> + Send + Sync>;

/// The way back from a running call to its client. A front that makes typed calls
/// ([`Server::call`](crate::Server::call)) has its own, which writes what its protocol has for these.
///
/// Handlers call the methods from any task, while they run and after they were cancelled, so no method may wait. `info`
/// has the facts about the request. An outlet itself bounds the reports that its client does not read, for example by
/// [`Limits::max_notices`](crate::Limits::max_notices), and the questions without an answer.
pub trait Outlet: fmt::Debug + Send + Sync + 'static {
    /// Sends progress that is more than the last. Returns true if it was sent, waits until it can be, or was dropped for
    /// want of room; `false`: the client wants none, or it cannot be written.
    fn send_progress(&self, info: &CallInfo, progress: &Progress) -> bool;

    /// Sends a log message, if the client wants messages of this level.
    fn send_log(&self, info: &CallInfo, level: Level, logger: Option<&str>, data: &RawJson);

    /// Asks the client all of these questions together, within `timeout`. The answers come in the order of the
    /// questions; dropping the future takes the questions back. The progress that the client makes with them goes to
    /// `progress`, if there is a way for it. By default there is no way to ask the client: [`AskError::Gone`].
    ///
    /// # Errors
    /// One question fails them all. [`AskError::TooMany`]: the client owes too many answers.
    fn ask_client(
        self: Arc<Self>,
        info: &CallInfo,
        questions: Vec<InputRequest>,
        timeout: Duration,
        progress: Option<ProgressCallback>,
    ) -> BoxFuture<'static, Result<Vec<RawJson>, AskError>> {
        let _ = (info, questions, timeout, progress);
        ready(Err(AskError::Gone)).boxed()
    }

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

    /// True if another process serves the client: it checks questions against the capabilities of the client, and
    /// selects the tools that the client sees.
    fn is_remote(&self) -> bool {
        false
    }

    /// Changes the tools that the client sees, and returns the names of those that it sees then, sorted; `None`: they
    /// are not selected on this way.
    fn select_tools(&self, change: Command<String>) -> Option<BoxFuture<'static, Result<Vec<String>, AskError>>> {
        let _ = change;
        None
    }

    /// True for a list that the front itself wants, because it selects tools for its clients: hidden tools are in it,
    /// with a mark ([`Context::lists_hidden_tools`](crate::Context::lists_hidden_tools)).
    fn lists_hidden_tools(&self) -> bool {
        false
    }
}
