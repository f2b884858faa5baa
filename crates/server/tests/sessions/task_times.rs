//! The longest time of a task.

use std::time::Duration;

use protomcp_server::{
    Context, Handler, Limits, RequestStateKeys, Server, ServerHandle, ServerInfo, Stores, TaskLimits, TaskOptions,
    Tasks,
};
use protomcp_testing::run_paused;
use protomcp_types::{CallTool, CallToolResult, CreateTaskResult, ErrorObject, ServerCapabilities};
use serde_json::{Value, json};

use super::task_extension::{ask, look};
use super::transcript::{Host, connect_to, full};

const YEAR: u64 = 365 * 24 * 60 * 60 * 1000;
const WITHOUT_END: TaskOptions = TaskOptions { ttl: Duration::MAX, poll_interval: Duration::from_secs(1) };

/// A program that sets no limit.
struct Unlimited(Tasks);

fn info() -> ServerInfo {
    let capabilities = ServerCapabilities::default().with_tools().with_tasks().with_task_extension();
    ServerInfo::new("stage", "1").with_capabilities(capabilities)
}

impl Handler for Unlimited {
    fn info(&self) -> ServerInfo {
        info()
    }

    async fn call_tool(&self, _: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        assert!(context.continue_as_task(WITHOUT_END));
        context.cancelled().await;
        Ok(CallToolResult::text("done"))
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        let work = async |context: Context| {
            context.cancelled().await;
            Ok(CallToolResult::text("done"))
        };
        self.0.begin(&context, call.task_ttl(), WITHOUT_END, work).await
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.0)
    }
}

fn connect() -> Host {
    let limits = Limits { tasks: TaskLimits { max_ttl: Duration::MAX, ..TaskLimits::default() }, ..Limits::default() };
    let sessions = ServerHandle::with_stores(info(), limits, RequestStateKeys::random(), Stores::default());
    let server = Server::with_sessions(sessions.clone(), Unlimited(Tasks::new(sessions)));
    connect_to(&server, 1 << 20, None)
}

#[test]
fn a_task_without_a_session_lasts_a_year_at_most() {
    run_paused(async {
        let mut host = connect();
        let answer = ask(&mut host, "tools/call", &json!({"name": "endless"})).await;
        assert_eq!(answer["result"]["ttlMs"], YEAR, "{answer}");
        assert_eq!(look(&mut host, &answer["result"]["taskId"]).await["ttlMs"], YEAR);
    });
}

#[test]
fn a_task_of_a_session_lasts_a_year_at_most() {
    run_paused(async {
        for wish in [json!({}), json!({"ttl": u64::MAX})] {
            let mut host = connect();
            host.steps(&["→ hello"]).await;
            let params = json!({"name": "endless", "task": wish});
            host.send(&full(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#))).await;
            let answer: Value = serde_json::from_str(&host.next().await.unwrap()).unwrap();
            assert_eq!(answer["result"]["task"]["ttl"], YEAR, "{answer}");
        }
    });
}
