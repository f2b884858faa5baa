//! Calls that go on as tasks: made, followed to their end, asking their user, cancelled.

use std::time::Duration;

use rmcp::model::{CallToolResponse, CancelTaskParams, GetTaskParams, UpdateTaskParams};
use rmcp::service::{RoleClient, RunningService};
use serde_json::{Value, json};

use crate::features::params;
use crate::host::Host;
use crate::report::{Attempt, Fault, has, is};

type Running = RunningService<RoleClient, Host>;

/// Tries everything that the client can do with tasks, at 2026-07-28.
pub async fn visit(running: &Running) -> Attempt {
    let id = begin(running, "slow_compute", json!({"seconds": 0.1, "label": "a task"})).await?;
    let done = until(running, &id, "completed").await?;
    has(&done["result"]["content"][0]["text"].to_string(), "Computed")?;

    let id = begin(running, "confirm_delete", json!({"filename": "a-file"})).await?;
    let asking = until(running, &id, "input_required").await?;
    is(&asking["inputRequests"]["confirm"]["method"], "elicitation/create")?;
    let answer = json!({"action": "accept", "content": {"confirm": true}});
    running.update_task(UpdateTaskParams::new(&id, [("confirm".to_owned(), answer)].into())).await?;
    let done = until(running, &id, "completed").await?;
    has(&done["result"]["content"][0]["text"].to_string(), "Accept")?;

    let id = begin(running, "slow_compute", json!({"seconds": 600, "label": "too long"})).await?;
    running.cancel_task(CancelTaskParams::new(&id)).await?;
    until(running, &id, "cancelled").await.map(|_| ())
}

async fn begin(running: &Running, name: &str, arguments: Value) -> Result<String, Fault> {
    match running.call_tool_once(params(name, arguments)).await? {
        CallToolResponse::Task(made) => Ok(made.task.task_id),
        other => Err(Fault::Failed(format!("no task: {other:?}"))),
    }
}

/// Looks at a task until it is in a state. Who waits for it has a limit.
async fn until(running: &Running, id: &str, status: &str) -> Result<Value, Fault> {
    loop {
        let seen = serde_json::to_value(running.get_task(GetTaskParams::new(id)).await?)?;
        match seen["status"].as_str() {
            Some(now) if now == status => return Ok(seen),
            Some("completed" | "failed" | "cancelled") => {
                return Err(Fault::Failed(format!("{seen} is not {status}")));
            }
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
