//! A task as a value: its status, its message and its outcome, with a session and without one.
//!
//! ```text
//!  Working ◀──────▶ InputRequired        while questions are open
//!     └────────┬────────┘
//!              ▼
//!  Completed, Failed or Cancelled        once; everything later is ignored
//! ```

mod json;

use std::time::{Duration, SystemTime};

use protomcp_types::{CallToolResult, ErrorObject, JsonBuf, JsonObject, Task, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::request::ServerResult;
use crate::task_view::{TaskDetail, TaskOptions, TaskView};

/// The bytes of a status message that are kept.
const MAX_MESSAGE: usize = 4096;

/// The outcome of the call that a task runs.
pub type TaskOutcome = Result<ServerResult, ErrorObject>;

/// The revision that a task belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskEra {
    /// MCP 2025-11-25, basic/utilities/tasks. A result with `isError` is a failure.
    Session,
    /// MCP 2026-07-28, extension tasks. Only an error is a failure.
    Stateless,
}

/// One task.
#[derive(Debug, Clone)]
pub struct TaskState {
    era: TaskEra,
    id: String,
    options: TaskOptions,
    created: SystemTime,
    updated: SystemTime,
    message: Option<String>,
    phase: Phase,
}

#[derive(Debug, Clone)]
enum Phase {
    Running {
        /// Open questions for the client.
        questions: usize,
    },
    Ended {
        status: TaskStatus,
        outcome: TaskOutcome,
    },
}

impl TaskState {
    /// The text for a task that its client has cancelled.
    pub const CANCELLED: &str = "the task was cancelled by the client";

    /// A task that begins now.
    pub fn new(era: TaskEra, id: impl Into<String>, options: TaskOptions, now: SystemTime) -> Self {
        let phase = Phase::Running { questions: 0 };
        Self { era, id: id.into(), options, created: now, updated: now, message: None, phase }
    }

    /// The id of the task.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The time for which it is kept, and the time between polls.
    #[must_use]
    pub fn options(&self) -> &TaskOptions {
        &self.options
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> TaskStatus {
        match self.phase {
            Phase::Running { questions: 0 } => TaskStatus::Working,
            Phase::Running { .. } => TaskStatus::InputRequired,
            Phase::Ended { status, .. } => status,
        }
    }

    /// True until the task has ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    /// The outcome; `None` while the task is running.
    #[must_use]
    pub fn outcome(&self) -> Option<&TaskOutcome> {
        match &self.phase {
            Phase::Running { .. } => None,
            Phase::Ended { outcome, .. } => Some(outcome),
        }
    }

    /// The status message, for people.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Notes a change that is not one of the status.
    pub fn touch(&mut self, now: SystemTime) {
        self.updated = now;
    }

    /// Sets the status message, of which the first 4096 bytes are kept. Returns true if it has changed.
    pub fn set_message(&mut self, message: &str, now: SystemTime) -> bool {
        let message = cut(message);
        let changes = self.is_running() && self.message.as_deref() != Some(message);
        if changes {
            self.message = Some(message.to_owned());
            self.updated = now;
        }
        changes
    }

    /// Sets the number of open questions for the client. Returns true if the status has changed.
    pub fn set_questions(&mut self, open: usize, now: SystemTime) -> bool {
        let before = self.status();
        if let Phase::Running { questions } = &mut self.phase {
            *questions = open;
        }
        let changes = self.status() != before;
        if changes {
            self.updated = now;
        }
        changes
    }

    /// Ends the task with the outcome of its call. Returns false if it has ended before.
    pub fn end(&mut self, outcome: TaskOutcome, now: SystemTime) -> bool {
        let message = self.message.clone();
        let (status, message) = match (&outcome, self.era) {
            (Ok(ServerResult::CallTool(result)), TaskEra::Session) if result.is_error => {
                (TaskStatus::Failed, first_text(result))
            }
            (Ok(_), TaskEra::Session) => (TaskStatus::Completed, None),
            (Ok(_), TaskEra::Stateless) => (TaskStatus::Completed, message),
            // MCP 2026-07-28, extension tasks: a failed task gives the reason.
            (Err(error), _) => (TaskStatus::Failed, Some(error.message.to_string())),
        };
        self.end_as(status, message, outcome, now)
    }

    /// Ends the task with the outcome of its call, which may have been dropped or have asked for more input. Returns
    /// false if it has ended before.
    pub fn end_call(&mut self, outcome: Option<TaskOutcome>, now: SystemTime) -> bool {
        match outcome {
            Some(Ok(ServerResult::InputRequired(_))) => {
                self.end(Err(ErrorObject::internal("a task cannot be answered with questions")), now)
            }
            Some(outcome) => self.end(outcome, now),
            None => {
                let message = self.message.clone();
                self.cancel(message.as_deref(), Self::CANCELLED, now)
            }
        }
    }

    /// Cancels the task; `text` is the result of its call. Returns false if it has ended before.
    pub fn cancel(&mut self, message: Option<&str>, text: &str, now: SystemTime) -> bool {
        self.end_as(TaskStatus::Cancelled, message.map(str::to_owned), Ok(CallToolResult::error(text).into()), now)
    }

    fn end_as(&mut self, status: TaskStatus, message: Option<String>, outcome: TaskOutcome, now: SystemTime) -> bool {
        if !self.is_running() {
            return false;
        }
        self.message = message.map(|message| cut(&message).to_owned());
        self.updated = now;
        self.phase = Phase::Ended { status, outcome };
        true
    }

    /// The task as MCP 2025-11-25 writes it.
    #[must_use]
    pub fn to_task(&self) -> Task {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut task = Task::begin(&*self.id, Some(millis(self.options.ttl)), self.created);
        task.poll_interval = Some(millis(self.options.poll_interval));
        task.update(self.status(), self.message.clone(), self.updated);
        task
    }

    /// The task as MCP 2026-07-28 writes it, with the `inputRequests` of its open questions.
    #[must_use]
    pub fn view(&self, questions: Option<JsonBuf>) -> TaskView {
        let detail = match &self.phase {
            Phase::Ended { status: TaskStatus::Cancelled, .. } => TaskDetail::Cancelled,
            Phase::Ended { outcome: Ok(result), .. } => TaskDetail::Completed(result.clone()),
            Phase::Ended { outcome: Err(error), .. } => TaskDetail::Failed(error.clone()),
            Phase::Running { .. } => questions.map_or(TaskDetail::Working, TaskDetail::Asking),
        };
        let Self { id, options, created, updated, message, .. } = self.clone();
        TaskView { id, options, created, updated, message, detail }
    }
}

/// The part of a status message that is kept.
fn cut(message: &str) -> &str {
    &message[..message.floor_char_boundary(MAX_MESSAGE)]
}

/// The first text of a result.
fn first_text(result: &CallToolResult) -> Option<String> {
    let blocks = result.content.to::<Vec<JsonObject>>().ok()?;
    blocks.iter().find_map(|block| block.member("text")?.to().ok())
}

#[cfg(test)]
mod tests;
