//! Calls beyond the limits are refused, and nothing else is.

use std::time::Duration;

use protomcp_server::layer::admission::{AdmissionLayer, AdmissionLimits};
use protomcp_server::{Context, Handler, Limits, Server, ServerHandle, ServerInfo, TaskOptions, Tasks};
use protomcp_types::{CallTool, CallToolResult, CreateTaskResult, ErrorObject, ServerCapabilities};

use super::transcript::{Host, call, connect_to, full, play};

const REFUSED: &str = r#"call tool \"sleep 10\" was refused: the tool has 1 calls already"#;

async fn ann(stage: &super::transcript::Stage, limits: AdmissionLimits) -> Host {
    let server = stage.server.clone().layer(AdmissionLayer::new(limits));
    let mut host = connect_to(&server, 1 << 20, Some("ann".into()));
    host.steps(&["→ hello"]).await;
    host
}

#[test]
fn a_call_beyond_a_limit_is_refused_and_may_come_again() {
    play(Limits::default(), async |stage| {
        let mut host = ann(&stage, AdmissionLimits { tool: Some(1), ..AdmissionLimits::default() }).await;
        host.send(&call(1, "sleep 10")).await;
        host.send(&call(2, "sleep 10")).await;
        let refused = host.next().await.unwrap();
        assert!(
            refused.starts_with(&full(r#"{"id":2,"result""#)) && refused.contains(r#""isError":true"#),
            "{refused}"
        );
        assert!(refused.contains(REFUSED) && refused.contains("or raise AdmissionLimits::tool"), "{refused}");
        assert!(refused.contains(r#""error_code":"OVERLOADED""#), "{refused}");
        assert!(refused.contains(r#""retryable":true,"retry_after_ms":1000"#), "{refused}");
        host.send(&call(3, "echo")).await;
        assert!(host.next().await.unwrap().starts_with(&full(r#"{"id":3,"result""#)), "another tool");
        assert!(host.next().await.unwrap().starts_with(&full(r#"{"id":1,"result""#)));
        host.send(&call(4, "sleep 10")).await;
        let again = host.next().await.unwrap();
        assert!(again.starts_with(&full(r#"{"id":4,"result""#)) && !again.contains("isError"), "{again}");
    });
}

#[test]
fn other_requests_pass_while_calls_are_refused() {
    play(Limits::default(), async |stage| {
        let mut host = ann(&stage, AdmissionLimits { server: Some(1), ..AdmissionLimits::default() }).await;
        host.send(&call(1, "wait")).await;
        host.send(&call(2, "echo")).await;
        assert!(host.next().await.unwrap().contains("OVERLOADED"));
        for method in ["ping", "tools/list", "prompts/list", "tasks/list"] {
            host.send(&full(&format!(r#"{{"id":3,"method":"{method}"}}"#))).await;
            let answer = host.next().await.unwrap();
            assert!(answer.starts_with(&full(r#"{"id":3,"result""#)), "{method}: {answer}");
        }
        host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#, "· 1100ms"]).await;
        host.send(&call(4, "echo")).await;
        assert!(!host.next().await.unwrap().contains("isError"), "the cancelled call has left its place");
    });
}

fn info() -> ServerInfo {
    ServerInfo::new("stage", "1").with_capabilities(ServerCapabilities::default().with_tools().with_tasks())
}

struct Slow(Tasks);

impl Handler for Slow {
    fn info(&self) -> ServerInfo {
        info()
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        self.0
            .begin(&context, call.task_ttl(), TaskOptions::default(), async |_: Context| {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(CallToolResult::text("done"))
            })
            .await
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.0)
    }
}

#[test]
fn a_call_that_is_a_task_counts_until_the_task_has_ended() {
    play(Limits::default(), async |_| {
        let sessions = ServerHandle::new(info(), Limits::default());
        let server = Server::with_sessions(sessions.clone(), Slow(Tasks::new(sessions)));
        let limits = AdmissionLimits { principal: Some(1), ..AdmissionLimits::default() };
        let mut host = connect_to(&server.layer(AdmissionLayer::new(limits)), 1 << 20, None);
        host.steps(&["→ hello"]).await;
        let slow =
            |id: u32| full(&format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"slow","task":{{}}}}}}"#));
        host.send(&slow(1)).await;
        assert!(host.next().await.unwrap().starts_with(&full(r#"{"id":1,"result":{"task""#)));
        host.send(&slow(2)).await;
        let refused = host.next().await.unwrap();
        assert!(refused.starts_with(&full(r#"{"id":2,"error":{"code":-32603"#)), "{refused}");
        assert!(refused.contains(r#""error_code":"OVERLOADED""#), "{refused}");
        tokio::time::sleep(Duration::from_millis(200)).await;
        host.send(&slow(3)).await;
        loop {
            let line = host.next().await.unwrap();
            if line.starts_with(&full(r#"{"id":3"#)) {
                break assert!(line.contains(r#""task""#), "{line}");
            }
        }
    });
}
