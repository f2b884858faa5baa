//! Tools that run as tasks: the process names the task, reports its status, returns its result, and cancels it.
//!
//! All of that is in the published link. Tools that require tasks, and questions for the user, are extensions.

use std::thread::sleep;
use std::time::Duration;

use protomcp_conformance::tool;
use protomcp_envelope::{CallToolRequest, CreateTaskResponse, ToolDefinition};
use serde_json::Value;

use crate::asking::{field, user};
use crate::content::said;
use crate::link::Link;
use crate::task_table::{Outcome, State};

const PUBLISHED: [&str; 3] = ["failing_job", "protocol_error_job", "slow_compute"];

/// Tools that ask the user.
const EXTENDED: [&str; 3] = ["confirm_delete", "multi_input", "test_tool_with_task"];

/// True for the name of such a tool.
pub(crate) fn is_one(name: &str) -> bool {
    PUBLISHED.contains(&name) || EXTENDED.contains(&name)
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
                return Some(Ok(said("computed immediately")));
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
                link.ask(id, vec![("confirm", user(&field("confirm", "boolean")))])
                    .map(|answer| said(&format!("{answer:?}"))),
            )
        }
        "multi_input" => {
            begin(link, id);
            let questions =
                vec![("first", user(&field("first", "string"))), ("second", user(&field("second", "string")))];
            State::Ended(link.ask(id, questions).map(|answers| said(&format!("{answers:?}"))))
        }
        "test_tool_with_task" => match link.ask(id, vec![("user_name", user(&field("name", "string")))]) {
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
    link.tasks().begin(id);
    link.send(id, "", CreateTaskResponse { task_id: id.to_owned() });
}
