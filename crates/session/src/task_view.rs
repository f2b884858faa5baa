//! A task without a session as its client sees it (MCP 2026-07-28, extension `io.modelcontextprotocol/tasks`).

use std::time::{Duration, SystemTime};

use protomcp_types::{ErrorObject, JsonBuf, TaskStatus};

use crate::request::ServerResult;

/// The settings of a handler for its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskOptions {
    /// The time for which the task is kept, from its beginning. A task that has not ended by then is cancelled. A
    /// client with a session may request another time; [`TaskLimits::max_ttl`](crate::TaskLimits::max_ttl) bounds both.
    pub ttl: Duration,
    /// The time after which clients should poll again.
    pub poll_interval: Duration,
}

impl Default for TaskOptions {
    /// An hour, polled once a second.
    fn default() -> Self {
        Self { ttl: Duration::from_secs(3600), poll_interval: Duration::from_secs(1) }
    }
}

/// A task at one moment.
#[derive(Debug)]
pub struct TaskView {
    /// The id of the task.
    pub id: String,
    /// The time for which it is kept, and the time between polls.
    pub options: TaskOptions,
    /// The time of its beginning.
    pub created: SystemTime,
    /// The time of its last change.
    pub updated: SystemTime,
    /// A status message for people.
    pub message: Option<String>,
    /// Its status, with its questions, result or error.
    pub detail: TaskDetail,
}

/// The request that an answer with a task belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAnswer {
    /// A call, which continues as the task.
    Created,
    /// A request about the task. The answer has its questions, result or error.
    Queried,
}

/// The status of a task, with its questions, result or error.
#[derive(Debug)]
pub enum TaskDetail {
    /// It runs.
    Working,
    /// It waits for answers of its client.
    Asking(JsonBuf),
    /// It has ended with this result.
    Completed(ServerResult),
    /// It has ended with this error.
    Failed(ErrorObject),
    /// It was cancelled.
    Cancelled,
}

impl TaskDetail {
    /// The status alone.
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Working => TaskStatus::Working,
            Self::Asking(_) => TaskStatus::InputRequired,
            Self::Completed(_) => TaskStatus::Completed,
            Self::Failed(_) => TaskStatus::Failed,
            Self::Cancelled => TaskStatus::Cancelled,
        }
    }
}
