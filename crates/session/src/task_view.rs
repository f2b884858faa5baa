//! A task without a session as its client sees it (MCP 2026-07-28, extension `io.modelcontextprotocol/tasks`).

use std::time::{Duration, SystemTime};

use protomcp_types::{ErrorObject, TaskStatus};

use crate::input::InputRequests;
use crate::request::ServerResult;

/// The wishes of a handler about the keeping of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskOptions {
    /// For how long after its beginning. What has not ended by then is cancelled. A client with a session may wish for
    /// another time; [`TaskLimits::max_ttl`](crate::TaskLimits::max_ttl) bounds both.
    pub ttl: Duration,
    /// The time after which clients should ask again.
    pub poll_interval: Duration,
}

impl Default for TaskOptions {
    /// An hour, asked for once a second.
    fn default() -> Self {
        Self { ttl: Duration::from_secs(3600), poll_interval: Duration::from_secs(1) }
    }
}

/// A task at one moment.
#[derive(Debug)]
pub struct TaskView {
    /// The id of the task.
    pub id: String,
    /// For how long it is kept, and how often clients should ask.
    pub options: TaskOptions,
    /// The time of its beginning.
    pub created: SystemTime,
    /// The time of its last change.
    pub updated: SystemTime,
    /// A status message for people.
    pub message: Option<String>,
    /// Its status, with what belongs to it.
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
    Asking(InputRequests),
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
