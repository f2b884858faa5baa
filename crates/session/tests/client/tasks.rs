//! Calls that become tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use protomcp_session::TaskWish;
use protomcp_types::RawJson;

use crate::wire::Wire;

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
