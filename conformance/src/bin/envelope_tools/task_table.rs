//! The tasks of the process and their states.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_envelope::TaskStatusResponse;
use serde_json::Value;

/// The outcome of a tool: content, or an error text.
pub(crate) type Outcome = Result<Value, String>;

/// All tasks of the process; they are never removed.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<String, State>>);

/// The state of a task.
pub(crate) enum State {
    Running,
    Ended(Outcome),
    /// The task has no outcome, not even an error of the tool.
    Failed(&'static str),
    Cancelled,
}

impl Tasks {
    /// A call has become a task of the same name.
    pub(crate) fn begin(&self, id: &str) {
        self.states().insert(id.to_owned(), State::Running);
    }

    pub(crate) fn end(&self, id: &str, state: State) {
        // A cancelled task stays cancelled.
        self.states().entry(id.to_owned()).and_modify(|now| {
            if let State::Running = now {
                *now = state;
            }
        });
    }

    pub(crate) fn cancel(&self, id: &str) -> TaskStatusResponse {
        self.end(id, State::Cancelled);
        self.status(id)
    }

    pub(crate) fn status(&self, id: &str) -> TaskStatusResponse {
        let (state, message) = match self.states().get(id) {
            Some(State::Running) => ("running", "working on it"),
            Some(State::Ended(_)) => ("completed", ""),
            Some(State::Failed(why)) => ("failed", *why),
            Some(State::Cancelled) => ("cancelled", ""),
            None => ("failed", "there is no such task"),
        };
        let (task_id, state, message) = (id.to_owned(), state.to_owned(), message.to_owned());
        TaskStatusResponse { task_id, state, message, ..TaskStatusResponse::default() }
    }

    pub(crate) fn outcome(&self, id: &str) -> Outcome {
        match self.states().get(id) {
            Some(State::Ended(outcome)) => outcome.clone(),
            _ => Err("the task has no result".into()),
        }
    }

    fn states(&self) -> MutexGuard<'_, HashMap<String, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
