//! Polls a task of the tool process until it ends: requests its state, forwards progress, fetches the result.

use std::time::Duration;

use protomcp_envelope::{
    CallToolResponse, TaskCancelRequest, TaskResultRequest, TaskStatusRequest, TaskStatusResponse,
};
use protomcp_link::{CallError, Link, Progress};

use crate::call::progress::OnProgress;
use crate::clock::NO_LIMIT;
use crate::diagnostics::failure::Failure;

/// The pause before the first poll; each further one is twice as long.
const SOON: Duration = Duration::from_millis(50);
/// The longest pause.
const OFTEN: Duration = Duration::from_secs(1);
/// The time for the process to answer a poll or a cancellation.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The end of a task without a result of its tool.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The error of the link.
    Link(CallError),
    /// The process made a task of the call, and reports this.
    Task(Failure),
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Self {
        Self::Link(error)
    }
}

/// Waits for the task's result, without a limit. Dropping the future cancels the task at the process.
pub(crate) async fn poll_task(
    link: &Link,
    tool: &str,
    task_id: String,
    listener: Option<OnProgress>,
) -> Result<CallToolResponse, Ended> {
    let mut unless = CancelOnDrop { link, task_id, ended: false };
    let mut pause = SOON;
    let failure = loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(OFTEN);
        let status = match link.call(TaskStatusRequest { task_id: unless.task_id.clone() }, ANSWER_TIMEOUT).await {
            Ok(status) => status,
            // A process that reads one message at a time may be busy with another call. The caller bounds the time of all.
            Err(CallError::TimedOut(_) | CallError::Busy(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let TaskStatusResponse { state, progress, total, message, .. } = status;
        match state.as_str() {
            "pending" | "running" => {
                if let Some(listener) = &listener {
                    listener(Progress { progress, total, message });
                }
            }
            "completed" => break None,
            "failed" => break Some(Failure::TaskFailed { tool: tool.into(), message }),
            "cancelled" => break Some(Failure::TaskCancelled { tool: tool.into() }),
            other => {
                let why = format!("its task is in the unknown state \"{other}\"");
                return Err(Ended::Task(Failure::Unusable { tool: tool.into(), why }));
            }
        }
    };
    unless.ended = true;
    if let Some(failure) = failure {
        return Err(Ended::Task(failure));
    }
    // A process gives a result once, so it is asked once.
    loop {
        match link.call(TaskResultRequest { task_id: unless.task_id.clone() }, NO_LIMIT).await {
            // It was not sent.
            Err(CallError::Busy(_)) => tokio::time::sleep(OFTEN).await,
            answer => return Ok(answer?),
        }
    }
}

/// Cancels a task whose caller is gone.
struct CancelOnDrop<'a> {
    link: &'a Link,
    task_id: String,
    ended: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.ended || self.link.is_closed() {
            return;
        }
        let (link, task_id) = (self.link.clone(), std::mem::take(&mut self.task_id));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Any answer acknowledges it; without an answer there is nothing more to do.
                let answer = link.call(TaskCancelRequest { task_id }, ANSWER_TIMEOUT).await;
                tracing::debug!(acknowledged = answer.is_ok(), "a task of the process was cancelled");
            });
        }
    }
}
