//! The calls that have been answered with a task.

use std::collections::{HashMap, VecDeque};

use protomcp_envelope::{CallToolResponse, ProgressNotification, TaskStatusResponse};

/// The most tasks that have ended and whose result was not fetched. One more drops the oldest.
const ENDED_MAX: usize = 1024;

/// The tasks of a connection. The id of a task is the id of its call.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    open: HashMap<String, Task>,
    ended: VecDeque<String>,
}

#[derive(Debug, Default)]
struct Task {
    progress: i64,
    total: i64,
    message: String,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    Completed(Box<CallToolResponse>),
    Failed,
}

impl Tasks {
    /// A call continues as a task. Returns false if it is one already.
    pub(crate) fn begin(&mut self, id: &str) -> bool {
        if self.open.contains_key(id) {
            return false;
        }
        self.open.insert(id.to_owned(), Task::default());
        true
    }

    pub(crate) fn is_task(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Keeps the progress of a task for the next poll.
    pub(crate) fn progress(&mut self, id: &str, progress: &ProgressNotification) {
        if let Some(task) = self.open.get_mut(id) {
            (task.progress, task.total) = (progress.progress, progress.total);
            task.message.clone_from(&progress.message);
        }
    }

    /// Sets the message for the next poll.
    pub(crate) fn set_message(&mut self, id: &str, message: &str) {
        if let Some(task) = self.open.get_mut(id).filter(|task| task.end.is_none()) {
            message.clone_into(&mut task.message);
        }
    }

    /// Keeps the outcome of a task; `Err`: the reason of its failure.
    pub(crate) fn end(&mut self, id: &str, outcome: Result<CallToolResponse, String>) {
        let Some(task) = self.open.get_mut(id) else { return };
        task.end = Some(match outcome {
            Ok(response) => End::Completed(Box::new(response)),
            Err(why) => {
                task.message = why;
                End::Failed
            }
        });
        self.ended.push_back(id.to_owned());
        if self.ended.len() > ENDED_MAX
            && let Some(oldest) = self.ended.pop_front()
        {
            self.open.remove(&oldest);
        }
    }

    /// The state of a task.
    pub(crate) fn status(&self, id: &str) -> TaskStatusResponse {
        let unknown = Task { message: "there is no such task".into(), end: Some(End::Failed), ..Task::default() };
        let task = self.open.get(id).unwrap_or(&unknown);
        let state = match task.end {
            None => "running",
            Some(End::Completed(_)) => "completed",
            Some(End::Failed) => "failed",
        };
        TaskStatusResponse {
            task_id: id.to_owned(),
            state: state.to_owned(),
            progress: task.progress,
            total: task.total,
            message: task.message.clone(),
        }
    }

    /// The result of a task that has completed, which is then forgotten.
    pub(crate) fn take_result(&mut self, id: &str) -> Option<CallToolResponse> {
        match self.open.get(id)?.end {
            Some(End::Completed(_)) => {}
            Some(End::Failed) | None => return None,
        }
        match self.forget(id)?.end? {
            End::Completed(response) => Some(*response),
            End::Failed => None,
        }
    }

    /// Forgets a task that was cancelled.
    pub(crate) fn cancel(&mut self, id: &str) -> TaskStatusResponse {
        self.forget(id);
        TaskStatusResponse { task_id: id.to_owned(), state: "cancelled".into(), ..TaskStatusResponse::default() }
    }

    fn forget(&mut self, id: &str) -> Option<Task> {
        self.ended.retain(|ended| ended != id);
        self.open.remove(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_reports_its_progress_and_gives_its_result_once() {
        let mut tasks = Tasks::default();
        assert!(tasks.begin("req-1") && !tasks.begin("req-1"));
        let progress = ProgressNotification { progress: 3, total: 9, message: "step".into(), ..Default::default() };
        tasks.progress("req-1", &progress);
        let status = tasks.status("req-1");
        assert_eq!((status.state.as_str(), status.progress, status.total), ("running", 3, 9));
        tasks.set_message("req-1", "thinking");
        assert_eq!(tasks.status("req-1").message, "thinking");
        assert!(tasks.take_result("req-1").is_none());
        tasks.end("req-1", Ok(CallToolResponse { result_json: "1".into(), ..Default::default() }));
        assert_eq!(tasks.status("req-1").state, "completed");
        assert_eq!(tasks.take_result("req-1").unwrap().result_json, "1");
        assert!(tasks.take_result("req-1").is_none() && !tasks.is_task("req-1"));
        assert_eq!(tasks.status("req-1").state, "failed");
    }

    #[test]
    fn failures_keep_their_reason_and_cancelled_tasks_are_forgotten() {
        let mut tasks = Tasks::default();
        tasks.begin("a");
        tasks.end("a", Err("no ink".into()));
        assert_eq!((tasks.status("a").state.as_str(), tasks.status("a").message.as_str()), ("failed", "no ink"));
        assert_eq!(tasks.cancel("a").state, "cancelled");
        assert!(!tasks.is_task("a"));
    }

    #[test]
    fn results_that_are_never_fetched_are_bounded() {
        let mut tasks = Tasks::default();
        for number in 0..=ENDED_MAX {
            tasks.begin(&number.to_string());
            tasks.end(&number.to_string(), Ok(CallToolResponse::default()));
        }
        assert_eq!((tasks.open.len(), tasks.ended.len()), (ENDED_MAX, ENDED_MAX));
        assert!(!tasks.is_task("0") && tasks.is_task("1"));
    }
}
