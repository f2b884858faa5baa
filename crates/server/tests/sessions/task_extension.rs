//! Tasks without a session: the extension of 2026-07-28.

use std::time::Duration;

use protomcp_server::{Limits, TaskLimits};
use serde_json::{Value, json};

use super::transcript::{Host, expand, full, play};

const KNOWN: &str = r#"«2026 {"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}»"#;

async fn ask_with(host: &mut Host, meta: &str, method: &str, params: &Value) -> Value {
    let params = params.to_string();
    let members = &params[1..];
    let comma = if members == "}" { "" } else { "," };
    let request = format!(r#"{{"id":1,"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{members}}}"#);
    host.send(&full(&expand(&request))).await;
    serde_json::from_str(&host.next().await.expect("an answer")).unwrap()
}

pub(crate) async fn ask(host: &mut Host, method: &str, params: &Value) -> Value {
    ask_with(host, KNOWN, method, params).await
}

/// Calls a tool that goes on as a task, and returns the id.
pub(crate) async fn begin(host: &mut Host, tool: &str) -> Value {
    let answer = ask(host, "tools/call", &json!({"name": tool})).await;
    let result = &answer["result"];
    assert_eq!(result["resultType"], "task", "{answer}");
    assert!(
        ["working", "input_required", "completed", "failed"].contains(&result["status"].as_str().unwrap()),
        "{answer}"
    );
    assert_eq!((&result["ttlMs"], &result["pollIntervalMs"]), (&json!(3_600_000), &json!(1000)));
    assert!(result["createdAt"].is_string() && result["lastUpdatedAt"].is_string());
    for absent in ["ttl", "pollInterval", "requestState", "task", "result", "inputRequests"] {
        assert!(result.get(absent).is_none(), "{absent}: {answer}");
    }
    assert_eq!(result["taskId"].as_str().map(str::len), Some(32));
    result["taskId"].clone()
}

pub(crate) async fn look(host: &mut Host, id: &Value) -> Value {
    let answer = ask(host, "tasks/get", &json!({"taskId": id})).await;
    assert_eq!((&answer["result"]["resultType"], &answer["result"]["taskId"]), (&json!("complete"), id), "{answer}");
    answer["result"].clone()
}

pub(crate) async fn later(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[expect(clippy::needless_pass_by_value, reason = "as `play` takes it, so that tests read alike")]
fn with_host(test: impl AsyncFn(&mut Host)) {
    play(Limits::default(), async |stage| test(&mut stage.connect()).await);
}

#[test]
fn a_call_goes_on_as_a_task_and_its_result_is_fetched() {
    with_host(async |host| {
        let id = begin(host, "task 100").await;
        assert_eq!(look(host, &id).await["status"], "working");
        later(100).await;
        let done = look(host, &id).await;
        assert_eq!(done["status"], "completed");
        assert_eq!(done["result"]["content"][0]["text"], "done");
        assert_eq!(look(host, &id).await["status"], "completed", "it is kept");
    });
}

#[test]
fn failures_of_the_tool_are_results_and_earlier_ones_errors() {
    with_host(async |host| {
        let id = begin(host, "task-fails").await;
        later(1).await;
        let done = look(host, &id).await;
        assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(true)));
        let id = begin(host, "task-error").await;
        later(1).await;
        let done = look(host, &id).await;
        assert_eq!((&done["status"], &done["error"]["code"]), (&json!("failed"), &json!(-32603)));
    });
}

#[test]
fn a_host_without_the_extension_waits_or_is_refused() {
    with_host(async |host| {
        let answer = ask_with(host, "«2026»", "tools/call", &json!({"name": "task 5"})).await;
        assert_eq!(
            (&answer["result"]["resultType"], &answer["result"]["content"][0]["text"]),
            (&json!("complete"), &json!("done"))
        );
        let required = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        for (method, params) in [
            ("tools/call", json!({"name": "task-required"})),
            ("tasks/get", json!({"taskId": "a"})),
            ("tasks/update", json!({"taskId": "a", "inputResponses": {}})),
            ("tasks/cancel", json!({"taskId": "a"})),
        ] {
            let answer = ask_with(host, "«2026»", method, &params).await;
            assert_eq!(answer["error"]["code"], -32021, "{answer}");
            assert_eq!(answer["error"]["data"]["requiredCapabilities"], required, "{method}");
        }
        for method in ["tasks/list", "tasks/result"] {
            assert_eq!(ask(host, method, &json!({"taskId": "a"})).await["error"]["code"], -32601, "{method}");
        }
        // With a session the extension does not exist.
        host.steps(&[
            "→ hello",
            r#"→ {"id":2,"method":"tools/call","params":{"name":"task 1"}}"#,
            r#"← {"id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#,
        ])
        .await;
    });
}

#[test]
fn a_task_asks_through_itself_and_takes_answers_one_by_one() {
    with_host(async |host| {
        let id = begin(host, "task-names").await;
        later(1).await;
        let asking = look(host, &id).await;
        assert_eq!(asking["status"], "input_required");
        let keys: Vec<_> = asking["inputRequests"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["one", "two"]);
        let update = |responses: Value| json!({"taskId": id, "inputResponses": responses});
        let bad = ask(host, "tasks/update", &update(json!({"one": {"action": "maybe"}}))).await;
        assert_eq!(bad["error"]["code"], -32602);
        for (responses, rest) in [
            (json!({"two": {"action": "accept"}, "unknown": {}}), vec!["one"]),
            // A key is never used twice.
            (json!({"one": {"action": "decline"}}), vec!["one'"]),
            (json!({"one": {"action": "decline"}}), vec!["one'"]),
        ] {
            let taken = ask(host, "tasks/update", &update(responses)).await;
            assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
            assert!(taken["result"].get("taskId").is_none());
            later(1).await;
            let asking = look(host, &id).await;
            assert_eq!(asking["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), rest);
        }
        ask(host, "tasks/update", &update(json!({"one'": {"action": "cancel"}}))).await;
        later(1).await;
        let done = look(host, &id).await;
        assert_eq!(done["result"]["content"][0]["text"], "[Ok(Decline), Ok(Accept), Ok(Cancel)]");
    });
}

#[test]
fn a_call_that_has_asked_becomes_a_task_with_the_answer() {
    with_host(async |host| {
        let asking = ask(host, "tools/call", &json!({"name": "ask-and-task"})).await;
        assert_eq!(asking["result"]["resultType"], "input_required", "{asking}");
        later(20).await;
        let (state, given) = (&asking["result"]["requestState"], json!({"name": {"action": "accept"}}));
        let retry = json!({"name": "ask-and-task", "requestState": state, "inputResponses": given});
        let answer = ask(host, "tools/call", &retry).await;
        assert_eq!(answer["result"]["resultType"], "task", "{answer}");
        let id = answer["result"]["taskId"].clone();
        assert_eq!(look(host, &id).await["status"], "working");
        later(100).await;
        assert_eq!(look(host, &id).await["result"]["content"][0]["text"], "true Ok(Accept)");
    });
}

#[test]
fn a_task_can_be_cancelled_once_and_again() {
    with_host(async |host| {
        let id = begin(host, "task 100000").await;
        for _ in 0..2 {
            let taken = ask(host, "tasks/cancel", &json!({"taskId": id})).await;
            assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
            assert_eq!(look(host, &id).await["status"], "cancelled");
        }
        // A task that has ended stays as it is.
        let id = begin(host, "task 1").await;
        later(5).await;
        ask(host, "tasks/cancel", &json!({"taskId": id})).await;
        assert_eq!(look(host, &id).await["status"], "completed");
    });
}

#[test]
fn a_task_belongs_to_who_began_it_and_to_no_connection() {
    play(Limits::default(), async |stage| {
        let mut me = stage.connect_as("me");
        let id = begin(&mut me, "task 100").await;
        me.steps(&["→ end", "← end"]).await;
        let mut you = stage.connect_as("you");
        let unknown = ask(&mut you, "tasks/get", &json!({"taskId": id})).await;
        assert_eq!(unknown["error"]["code"], -32602);
        later(100).await;
        let mut me = stage.connect_as("me");
        assert_eq!(look(&mut me, &id).await["status"], "completed");
        later(3_600_000).await;
        assert_eq!(ask(&mut me, "tasks/get", &json!({"taskId": id})).await["error"]["code"], -32602);
    });
}

#[test]
fn a_task_of_a_client_without_questions_also_outlives_it() {
    const KNOWN: &str = r#"«2026 {"extensions":{"io.modelcontextprotocol/tasks":{}}}»"#;
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let answer = ask_with(&mut host, KNOWN, "tools/call", &json!({"name": "task 100"})).await;
        let id = answer["result"]["taskId"].clone();
        assert_eq!(answer["result"]["resultType"], "task", "{answer}");
        host.steps(&["→ end", "← end"]).await;
        later(100).await;
        let answer = ask_with(&mut stage.connect(), KNOWN, "tasks/get", &json!({"taskId": id})).await;
        assert_eq!(answer["result"]["status"], "completed", "{answer}");
    });
}

#[test]
fn the_caller_with_most_tasks_gives_way() {
    play(Limits { tasks: TaskLimits { max: 2, ..TaskLimits::default() }, ..Limits::default() }, async |stage| {
        let (mut ann, mut bob) = (stage.connect_as("ann"), stage.connect_as("bob"));
        let ids = [begin(&mut ann, "task 5").await, begin(&mut ann, "task 10").await];
        let other = begin(&mut bob, "task 10").await;
        assert_eq!(ask(&mut ann, "tasks/get", &json!({"taskId": ids[0]})).await["error"]["code"], -32602);
        later(20).await;
        assert_eq!(look(&mut ann, &ids[1]).await["status"], "completed");
        assert_eq!(look(&mut bob, &other).await["status"], "completed");
    });
}

#[test]
fn results_of_others_stay_when_one_owner_keeps_too_much() {
    play(Limits { tasks: TaskLimits { max_bytes: 60, ..TaskLimits::default() }, ..Limits::default() }, async |stage| {
        let (mut ann, mut bob) = (stage.connect_as("ann"), stage.connect_as("bob"));
        let other = begin(&mut bob, "task 1").await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(begin(&mut ann, "task 1").await);
            later(5).await;
        }
        // Each result is 31 bytes, of which two have no room: Ann's newest gives way to Bob's.
        assert_eq!(look(&mut bob, &other).await["status"], "completed");
        let result = &look(&mut ann, &ids[2]).await["result"];
        assert_eq!(result["_meta"]["protomcp/error"]["error_code"], "OVERLOADED", "{result}");
    });
}

#[test]
fn with_too_many_tasks_a_call_is_answered_as_a_call() {
    play(Limits { tasks: TaskLimits { max: 1, ..TaskLimits::default() }, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        begin(&mut host, "task 1").await;
        let answer = ask(&mut host, "tools/call", &json!({"name": "task 1"})).await;
        assert_eq!(
            (&answer["result"]["resultType"], &answer["result"]["content"][0]["text"]),
            (&json!("complete"), &json!("done"))
        );
    });
}
