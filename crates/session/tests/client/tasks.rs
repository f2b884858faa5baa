//! Calls that become tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use protomcp_session::{NoAnswer, TaskWish};
use protomcp_types::RawJson;

use super::wire::Wire;

#[test]
fn a_task_of_a_session_is_one_call() {
    let mut wire = Wire::stateful(|_| {});
    wire.call_with("a", |call| {
        call.task = Some(TaskWish { ttl: Some(Duration::from_secs(5)) });
        call.wants_progress = true;
    });
    assert_eq!(
        wire.sent(),
        [r#"{"id":2,"method":"tools/call","params":{"name":"a","task":{"ttl":5000},"_meta":{"progressToken":2}}}"#]
    );
    let task = |status: &str| {
        format!(r#""taskId":"t","status":"{status}","createdAt":"","lastUpdatedAt":"","ttl":null,"pollInterval":2000"#)
    };
    wire.server(&format!(r#""id":2,"result":{{"task":{{{}}}}}"#, task("working")));
    wire.wait(2);
    assert_eq!(wire.sent(), [r#"{"id":3,"method":"tasks/get","params":{"taskId":"t"}}"#]);
    // The token stays valid while the task runs (MCP 2025-11-25, basic/utilities/progress).
    wire.server(r#""method":"notifications/progress","params":{"progressToken":2,"progress":1}"#);
    wire.server(&format!(r#""id":3,"result":{{{}}}"#, task("working")));
    wire.server(r#""method":"notifications/tasks/status","params":{"taskId":"t","status":"completed"}"#);
    wire.server(&format!(r#""id":4,"result":{{{}}}"#, task("completed")));
    assert_eq!(
        wire.sent(),
        [
            r#"{"id":4,"method":"tasks/get","params":{"taskId":"t"}}"#,
            r#"{"id":5,"method":"tasks/result","params":{"taskId":"t"}}"#
        ]
    );
    wire.server(r#""id":5,"result":{"content":[]}"#);
    assert_eq!(
        wire.events(),
        [
            "call 1 task t Working",
            "call 1 progress 1",
            "call 1 task t Working",
            "told notifications/tasks/status",
            "call 1 task t Completed",
            r#"call 1 after 0: {"content":[]}"#
        ]
    );
}

#[test]
fn a_task_without_a_session_asks_and_answers_in_its_state() {
    let mut wire = Wire::stateless(|_| {});
    let call = wire.call("a");
    wire.server(
        r#""id":2,"result":{"resultType":"task","taskId":"t","status":"working","ttlMs":null,"pollIntervalMs":500}"#,
    );
    wire.sent();
    wire.wait(1);
    assert_eq!(wire.sent(), [r#"{"id":3,"method":"tasks/get","params":{"taskId":"t",…}}"#]);
    let asks = r#""result":{"resultType":"complete","taskId":"t","status":"input_required","inputRequests":{"r":{"method":"roots/list"}}}"#;
    wire.server(&format!(r#""id":3,{asks}"#));
    wire.connection.answer_inputs(wire.now, call, Ok(BTreeMap::from([("r".to_owned(), RawJson::EMPTY_OBJECT)])));
    assert_eq!(
        wire.sent(),
        [r#"{"id":4,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"r":{}},…}}"#]
    );
    wire.server(r#""id":4,"result":{}"#);
    wire.server(&format!(r#""id":5,{asks}"#));
    wire.wait(1);
    wire.server(r#""id":6,"result":{"taskId":"t","status":"completed","result":{"content":[]}}"#);
    let events = wire.events();
    assert_eq!(events.iter().filter(|event| event.contains("asks")).count(), 1, "a key is asked once: {events:?}");
    assert_eq!(events.last().unwrap(), r#"call 1 after 1: {"content":[]}"#);
}

#[test]
fn the_end_of_a_task_is_the_end_of_its_call() {
    for (state, outcome) in [
        (
            r#""status":"failed","error":{"code":-7,"message":"no"}"#,
            "call 1 failed: the server refused the request: no (-7)",
        ),
        (r#""status":"cancelled","statusMessage":"bored""#, "call 1 failed: the task was cancelled: bored"),
        (r#""status":"asleep""#, "call 1 failed: the answer of the server is invalid: the task cannot be read"),
    ] {
        let mut wire = Wire::stateless(|_| {});
        wire.call("a");
        wire.server(r#""id":2,"result":{"resultType":"task","taskId":"t","status":"working"}"#);
        wire.wait(1);
        wire.server(&format!(r#""id":3,"result":{{"taskId":"t",{state}}}"#));
        assert_eq!(wire.events().last().unwrap(), outcome);
    }
    let mut wire = Wire::stateless(|_| {});
    let call = wire.call("a");
    wire.server(r#""id":2,"result":{"resultType":"task","taskId":"t","status":"working"}"#);
    wire.sent();
    wire.connection.cancel(call);
    assert_eq!(wire.sent(), [r#"{"id":3,"method":"tasks/cancel","params":{"taskId":"t",…}}"#]);
}

#[test]
fn progress_never_shortens_the_time_of_a_result() {
    let mut wire = Wire::stateful(|_| {});
    wire.call_with("a", |call| {
        call.task = Some(TaskWish::default());
        call.wants_progress = true;
    });
    wire.server(r#""id":2,"result":{"task":{"taskId":"t","status":"input_required"}}"#);
    wire.server(r#""method":"notifications/progress","params":{"progressToken":2,"progress":1}"#);
    wire.events();
    wire.wait(3600);
    assert!(wire.events().is_empty());
    wire.server(r#""id":3,"result":{"content":[]}"#);
    assert_eq!(wire.events(), [r#"call 1 after 0: {"content":[]}"#]);
}

#[test]
fn a_poll_that_fails_is_repeated() {
    let passing =
        [NoAnswer::NotSent, NoAnswer::Connection, NoAnswer::Incomplete, NoAnswer::Status(500), NoAnswer::Status(429)];
    for is_stateful in [true, false] {
        let mut wire = if is_stateful { Wire::stateful(|_| {}) } else { Wire::stateless(|_| {}) };
        wire.call_with("a", |call| call.task = Some(TaskWish::default()));
        let task = r#""taskId":"t","status":"working","pollInterval":1000"#;
        wire.server(&if is_stateful {
            format!(r#""id":2,"result":{{"task":{{{task}}}}}"#)
        } else {
            format!(r#""id":2,"result":{{"resultType":"task",{task}}}"#)
        });
        wire.wait(1);
        let mut id = 3;
        for why in passing {
            assert!(wire.sent().last().unwrap().contains("tasks/get"));
            wire.lost(id, why);
            id += 1;
            wire.wait(1);
        }
        // A poll without an answer.
        wire.sent();
        wire.wait(60);
        let withdrawn = format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
        assert_eq!(wire.sent(), [withdrawn]);
        id += 1;
        wire.wait(1);
        assert!(wire.sent()[0].contains("tasks/get"));
        wire.events();
        wire.server(&format!(r#""id":{id},"result":{{"taskId":"t","status":"completed","result":{{"a":1}}}}"#));
        id += 1;
        if is_stateful {
            wire.lost(id, NoAnswer::Incomplete);
            wire.wait(1);
            wire.server(&format!(r#""id":{},"result":{{"taskId":"t","status":"completed"}}"#, id + 1));
            wire.server(&format!(r#""id":{},"result":{{"a":1}}"#, id + 2));
        }
        assert_eq!(wire.events().last().unwrap(), r#"call 1 after 0: {"a":1}"#);
    }
}

#[test]
fn a_task_without_any_answer_ends_with_its_time() {
    let mut wire = Wire::stateless(|config| config.limits.task_timeout = Duration::from_secs(700));
    wire.call("a");
    wire.server(r#""id":2,"result":{"resultType":"task","taskId":"t","status":"working"}"#);
    for _ in 0..699 {
        wire.wait(1);
    }
    assert_eq!(wire.events(), ["call 1 task t Working"]);
    wire.sent();
    wire.wait(1);
    assert!(wire.sent().iter().any(|sent| sent.contains("tasks/cancel")));
    assert_eq!(wire.events(), ["call 1 failed: the server did not answer within 700s"]);
}

#[test]
fn answers_for_a_task_are_sent_until_the_server_has_them() {
    let mut wire = Wire::stateless(|_| {});
    let call = wire.call("a");
    wire.server(r#""id":2,"result":{"resultType":"task","taskId":"t","status":"working"}"#);
    wire.wait(1);
    wire.server(
        r#""id":3,"result":{"taskId":"t","status":"input_required","inputRequests":{"r":{"method":"roots/list"}}}"#,
    );
    wire.connection.answer_inputs(wire.now, call, Ok(BTreeMap::from([("r".to_owned(), RawJson::EMPTY_OBJECT)])));
    wire.sent();
    wire.lost(4, NoAnswer::Connection);
    wire.wait(1);
    let again = r#"{"id":5,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"r":{}},…}}"#;
    assert_eq!(wire.sent(), [again]);
    wire.server(r#""id":5,"result":{}"#);
    assert_eq!(wire.sent(), [r#"{"id":6,"method":"tasks/get","params":{"taskId":"t",…}}"#]);
}

#[test]
fn a_task_survives_the_loss_of_its_session() {
    let mut wire = Wire::stateful(|config| config.channel = protomcp_session::Channel::Exchanges);
    wire.call_with("a", |call| call.task = Some(TaskWish::default()));
    wire.server(r#""id":2,"result":{"task":{"taskId":"t","status":"working"}}"#);
    wire.wait(1);
    wire.sent();
    wire.lost(3, NoAnswer::SessionLost);
    wire.wait(5);
    let sent = wire.sent();
    assert!(sent.len() == 1 && sent[0].contains("initialize"), "nothing else before the answer: {sent:?}");
    wire.server(&super::wire::INITIALIZED.replace(r#""id":1"#, r#""id":4"#));
    wire.wait(1);
    assert_eq!(wire.sent().last().unwrap(), r#"{"id":5,"method":"tasks/get","params":{"taskId":"t"}}"#);
    wire.server(r#""id":5,"error":{"code":-32602,"message":"unknown task"}"#);
    assert_eq!(wire.events().last().unwrap(), "call 1 failed: the server refused the request: unknown task (-32602)");
}
