//! Calls that go on after they were answered, which only 2025-11-25 has.

use protomcp_server::{Limits, SessionId};
use protomcp_types::{Progress, ProgressToken, TaskStatus};

use super::handler::task;
use super::transcript::{check, play};

const EPOCH: &str = r#""createdAt":"1970-01-01T00:00:00.000Z","lastUpdatedAt":"1970-01-01T00:00:00.000Z""#;

fn shown(status: &str, ttl: &str) -> String {
    format!(r#""taskId":"t","status":"{status}",{EPOCH},"ttl":{ttl}"#)
}

#[test]
fn a_call_becomes_a_task_that_is_asked_after_and_has_a_result() {
    check(&[
        "→ hello",
        r#"→ {"id":1,"method":"tools/call","params":{"name":"sleep","task":{"ttl":60000}}}"#,
        &format!(r#"← {{"id":1,"result":{{"task":{{{}}}}}}}"#, shown("working", "60000")),
        r#"→ {"id":2,"method":"tasks/get","params":{"taskId":"t"}}"#,
        &format!(r#"← {{"id":2,"result":{{{}}}}}"#, shown("completed", "null")),
        r#"→ {"id":3,"method":"tasks/result","params":{"taskId":"t"}}"#,
        "· 9ms",
        r#"← {"id":3,"result":{"content":[{"type":"text","text":"overslept"}],"_meta":{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"t"}},"isError":true}}"#,
        r#"→ {"id":4,"method":"tasks/list"}"#,
        &format!(r#"← {{"id":4,"result":{{"tasks":[{{{}}}],"nextCursor":"x"}}}}"#, shown("working", "7")),
        r#"→ {"id":5,"method":"tasks/list","params":{"cursor":"x"}}"#,
        r#"← {"id":5,"result":{"tasks":[]}}"#,
        r#"→ {"id":6,"method":"tasks/cancel","params":{"taskId":"t"}}"#,
        &format!(r#"← {{"id":6,"result":{{{}}}}}"#, shown("cancelled", "null")),
    ]);
}

#[test]
fn a_task_that_is_not_there_or_cannot_be_is_refused() {
    let mut transcript = vec![
        "→ hello".to_owned(),
        r#"→ {"id":1,"method":"tools/call","params":{"name":"echo","task":{}}}"#.to_owned(),
        r#"← {"id":1,"error":{"code":-32601,"message":"method not found: \"echo\""}}"#.to_owned(),
        r#"→ {"id":2,"method":"tools/call","params":{"name":"sleep","task":5}}"#.to_owned(),
        r#"← {"id":2,"error":{"code":-32602,"message":"invalid params: task must be an object"}}"#.to_owned(),
    ];
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        transcript.push(format!(r#"→ {{"id":3,"method":"{method}","params":{{"taskId":"u"}}}}"#));
        transcript.push(r#"← {"id":3,"error":{"code":-32602,"message":"unknown task \"u\""}}"#.to_owned());
        transcript.push(format!(r#"→ {{"id":4,"method":"{method}"}}"#));
        transcript
            .push(r#"← {"id":4,"error":{"code":-32602,"message":"invalid params: taskId is missing"}}"#.to_owned());
    }
    check(&transcript.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn other_revisions_have_no_tasks_and_ignore_the_wish_for_one() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        check(&[
            &format!("→ hello {version}"),
            r#"→ {"id":1,"method":"tools/call","params":{"name":"fail","task":{}}}"#,
            r#"← {"id":1,"result":{"content":[{"type":"text","text":"it did not work"}],"isError":true}}"#,
            r#"→ {"id":2,"method":"tasks/get","params":{"taskId":"t"}}"#,
            r#"← {"id":2,"error":{"code":-32601,"message":"method not found: \"tasks/get\""}}"#,
            r#"→ {"id":3,"method":"tasks/list"}"#,
            r#"← {"id":3,"error":{"code":-32601,"message":"method not found: \"tasks/list\""}}"#,
        ]);
    }
}

#[test]
fn only_its_session_is_notified_of_a_task() {
    play(Limits::default(), async |stage| {
        let (mut one, mut two, mut old) = (stage.connect(), stage.connect(), stage.connect());
        one.steps(&["→ hello"]).await;
        two.steps(&["→ hello"]).await;
        old.steps(&["→ hello 2025-06-18"]).await;
        for host in [&mut one, &mut two, &mut old] {
            host.steps(&["· 1ms"]).await;
        }
        let sessions = stage.server.handle();
        let token = ProgressToken::from(7);
        for id in [1, 3] {
            sessions.task_status(SessionId::new(id), &task(TaskStatus::Failed, None));
            sessions.task_progress(SessionId::new(id), &token, &Progress::new(1));
        }
        sessions.elicitation_complete(SessionId::new(1), "e");
        one.steps(&[
            &format!(r#"← {{"method":"notifications/tasks/status","params":{{{}}}}}"#, shown("failed", "null")),
            r#"← {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
            r#"← {"method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#,
            "· 1000ms",
        ])
        .await;
        two.steps(&["· 1000ms"]).await;
        old.steps(&["· 1000ms"]).await;
    });
}

#[test]
fn no_status_is_sent_before_the_handshake_is_complete() {
    play(Limits { max_notices: 1, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        host.send(&super::transcript::initialize("2025-11-25")).await;
        host.next().await;
        for _ in 0..5 {
            stage.server.handle().task_status(SessionId::new(1), &task(TaskStatus::Failed, None));
            host.steps(&["· 1ms"]).await;
        }
        host.steps(&[r#"→ {"method":"notifications/initialized"}"#, "· 1ms"]).await;
        stage.server.handle().task_status(SessionId::new(1), &task(TaskStatus::Failed, None));
        assert!(host.next().await.unwrap().contains("notifications/tasks/status"));
    });
}
