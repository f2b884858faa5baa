//! Tools that run as tasks: the process names the task, reports its status, returns its result, and cancels it.
//!
//! All of that is in the published link. Tools that require tasks, and questions for the user, are extensions.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use protomcp_conformance::tool;
use protomcp_proto::{CallToolRequest, CreateTaskResponse, TaskStatusResponse, ToolDefinition};
use serde_json::Value;

use crate::asking::{field, user};
use crate::content::said;
use crate::link::Link;

const PUBLISHED: [&str; 3] = ["failing_job", "protocol_error_job", "slow_compute"];

/// Tools that ask the user.
const EXTENDED: [&str; 3] = ["confirm_delete", "multi_input", "test_tool_with_task"];

/// The outcome of a tool: content, or an error text.
pub(crate) type Outcome = Result<Value, String>;

/// All tasks of the process; they are never removed.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<String, State>>);

/// The state of a task.
enum State {
    Running,
    Ended(Outcome),
    /// The task has no outcome, not even an error of the tool.
    Failed(&'static str),
    Cancelled,
}

pub(crate) fn all(link: &Link) -> Vec<ToolDefinition> {
    let mut names = PUBLISHED.to_vec();
    if link.is_extended() {
        names.extend(EXTENDED);
    }
    let required = |name| link.is_extended() && ["failing_job", "test_tool_with_task"].contains(&name);
    let define = |name| ToolDefinition { task_support: true, task_required: required(name), ..tool(name) };
    names.into_iter().map(define).collect()
}

/// Runs a tool. `None`: it is not one of these, or it was answered with a task.
pub(crate) fn call(link: &Link, id: &str, call: &CallToolRequest) -> Option<Outcome> {
    let arguments: Value = serde_json::from_slice(&call.arguments_json).unwrap_or_default();
    let state = match call.name.as_str() {
        "slow_compute" => {
            let seconds = arguments["seconds"].as_f64().unwrap_or_default();
            if seconds == 0.0 {
                return Some(Ok(said("computed at once")));
            }
            begin(link, id);
            sleep(Duration::from_secs_f64(seconds));
            State::Ended(Ok(said(&format!("computed for {seconds} seconds"))))
        }
        "failing_job" => {
            begin(link, id);
            sleep(Duration::from_secs(1));
            State::Ended(Err("the job has failed".into()))
        }
        "protocol_error_job" => {
            begin(link, id);
            State::Failed("the job could not be carried out")
        }
        "confirm_delete" => {
            begin(link, id);
            State::Ended(
                link.ask(id, vec![user(&field("confirm", "boolean"))]).map(|answer| said(&format!("{answer:?}"))),
            )
        }
        "multi_input" => {
            begin(link, id);
            let questions = vec![user(&field("first", "string")), user(&field("second", "string"))];
            State::Ended(link.ask(id, questions).map(|answers| said(&format!("{answers:?}"))))
        }
        "test_tool_with_task" => match link.ask(id, vec![user(&field("name", "string"))]) {
            Ok(answer) => {
                begin(link, id);
                State::Ended(Ok(said(&format!("{answer:?}"))))
            }
            Err(why) => return Some(Err(why)),
        },
        _ => unreachable!("only these tools are called as tasks"),
    };
    link.tasks().end(id, state);
    None
}

/// Answers a call with a task of the same name.
fn begin(link: &Link, id: &str) {
    link.tasks().states().insert(id.to_owned(), State::Running);
    link.send(id, "", CreateTaskResponse { task_id: id.to_owned() });
}

impl Tasks {
    pub(crate) fn is_one(name: &str) -> bool {
        PUBLISHED.contains(&name) || EXTENDED.contains(&name)
    }

    fn end(&self, id: &str, state: State) {
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
