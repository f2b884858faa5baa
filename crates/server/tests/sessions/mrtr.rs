//! Questions without a session: `input_required` of 2026-07-28.

use std::sync::atomic::Ordering;
use std::time::Duration;

use protomcp_server::Limits;
use serde_json::{Value, json};

use super::transcript::{Host, Stage, expand, full, play};

const ALL: &str = r#"«2026 {"sampling":{},"roots":{"listChanged":true},"elicitation":{}}»"#;

/// A request with this capability line and these parameters, and its answer.
pub(crate) async fn ask(host: &mut Host, id: u32, method: &str, params: &Value) -> Value {
    send(host, id, method, ALL, params).await;
    answer(host, id).await
}

async fn send(host: &mut Host, id: u32, method: &str, meta: &str, params: &Value) {
    let params = params.to_string();
    let (_, members) = params.split_at(1);
    let request = format!(r#"{{"id":{id},"method":"{method}","params":{{"_meta":{{{meta}}},{members}}}"#);
    host.send(&full(&expand(&request))).await;
}

async fn answer(host: &mut Host, id: u32) -> Value {
    let line: Value = serde_json::from_str(&host.next().await.expect("an answer")).unwrap();
    assert_eq!(line["id"], id, "{line}");
    line
}

fn questions(answer: &Value) -> Vec<(&str, &str)> {
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert_eq!(answer["result"]["ttlMs"], Value::Null, "questions are not kept");
    let requests = answer["result"]["inputRequests"].as_object().expect("requests");
    requests.iter().map(|(key, request)| (key.as_str(), request["method"].as_str().unwrap())).collect()
}

/// The parameters of the next round.
pub(crate) fn again(params: &Value, answer: &Value, responses: Value) -> Value {
    let mut params = params.clone();
    params["inputResponses"] = responses;
    params["requestState"] = answer["result"]["requestState"].clone();
    assert!(params["requestState"].is_string(), "{answer}");
    params
}

#[track_caller]
pub(crate) fn says(answer: &Value, text: &str) {
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
}

#[track_caller]
pub(crate) fn fails(answer: &Value, code: i32) {
    assert_eq!(answer["error"]["code"], code, "{answer}");
}

pub(crate) fn accept(name: &str) -> Value {
    json!({"user_name": {"action": "accept", "content": {"name": name}}})
}

/// Plays with one host.
#[expect(clippy::needless_pass_by_value, reason = "as `play` takes it, so that tests read alike")]
fn with_host(test: impl AsyncFn(&Stage, &mut Host)) {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        test(&stage, &mut host).await;
    });
}

#[test]
fn questions_are_the_result_and_the_next_request_has_answers() {
    with_host(async |_, host| {
        for (tool, key, method, response, said) in [
            (
                "form",
                "elicitation-1",
                "elicitation/create",
                json!({"action": "accept", "content": {"a": 1}}),
                r#"ElicitResult { action: Accept, content: Some({"a":1}), meta: None }"#,
            ),
            (
                "sample",
                "sampling-1",
                "sampling/createMessage",
                // In the order of the alphabet, which is the same whether or not maps keep the order of their members.
                json!({"role": "assistant", "content": {"text": "yo", "type": "text"}, "model": "m"}),
                r#"CreateMessageResult { role: Assistant, content: {"text":"yo","type":"text"}, model: "m", stop_reason: None, meta: None }"#,
            ),
            ("roots", "roots-1", "roots/list", json!({"roots": []}), "ListRootsResult { roots: [], meta: None }"),
        ] {
            let call = json!({"name": tool});
            let first = ask(host, 1, "tools/call", &call).await;
            assert_eq!(questions(&first), [(key, method)]);
            assert_eq!(first["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "stage");
            let second = ask(host, 2, "tools/call", &again(&call, &first, json!({key: response}))).await;
            says(&second, said);
        }
    });
}

#[test]
fn prompts_and_resources_may_ask_and_are_then_not_cached() {
    with_host(async |_, host| {
        let prompt = json!({"name": "ask"});
        let first = ask(host, 1, "prompts/get", &prompt).await;
        assert_eq!(questions(&first), [("user_context", "elicitation/create")]);
        let answer = json!({"user_context": {"action": "decline"}});
        let second = ask(host, 2, "prompts/get", &again(&prompt, &first, answer)).await;
        assert_eq!(second["result"]["messages"][0]["content"]["text"], "Decline");

        let read = json!({"uri": "file:///secret"});
        let first = ask(host, 3, "resources/read", &read).await;
        let answer = json!({"elicitation-1": {"action": "accept"}});
        let second = ask(host, 4, "resources/read", &again(&read, &first, answer)).await;
        assert_eq!(second["result"]["contents"][0]["text"], "Accept");
        assert_eq!((&second["result"]["ttlMs"], &second["result"]["cacheScope"]), (&json!(0), &json!("private")));
    });
}

#[test]
fn several_questions_may_be_answered_one_by_one() {
    with_host(async |_, host| {
        let call = json!({"name": "ask-all"});
        let first = ask(host, 1, "tools/call", &call).await;
        let all = [("form", "elicitation/create"), ("model", "sampling/createMessage"), ("roots", "roots/list")];
        assert_eq!(questions(&first), all);
        let some = json!({"roots": {"roots": []}, "form": {"action": "cancel"}, "unknown": {}});
        let second = ask(host, 2, "tools/call", &again(&call, &first, some)).await;
        assert_eq!(questions(&second), [("model", "sampling/createMessage")]);
        assert_ne!(first["result"]["requestState"], second["result"]["requestState"]);
        let rest = json!({"model": {"role": "assistant", "content": {}, "model": "m"}});
        says(&ask(host, 3, "tools/call", &again(&call, &second, rest)).await, "Cancel m 0");
    });
}

#[test]
fn a_call_goes_on_over_another_connection_and_reports_there() {
    with_host(async |stage, host| {
        let call = json!({"name": "name 2"});
        let first = ask(host, 1, "tools/call", &call).await;
        // The first connection is gone for good.
        host.steps(&["→ end", "← end"]).await;
        let mut other = stage.connect();
        let meta = format!(r#"{ALL},"progressToken":"t""#);
        send(&mut other, 7, "tools/call", &meta, &again(&call, &first, accept("a"))).await;
        other.steps(&[r#"← {"method":"notifications/progress","params":{"progressToken":"t","progress":2}}"#]).await;
        let second = answer(&mut other, 7).await;
        assert_eq!(questions(&second), [("user_name", "elicitation/create")]);
        let third = ask(&mut other, 8, "tools/call", &again(&call, &second, accept("b"))).await;
        says(&third, r#"{"name":"a"}+{"name":"b"}"#);
    });
}

#[test]
fn progress_between_rounds_waits_for_the_next_one() {
    with_host(async |_, host| {
        let call = json!({"name": "ask-and-report 40"});
        let meta = format!(r#"{ALL},"progressToken":"t""#);
        send(host, 1, "tools/call", &meta, &call).await;
        let first = answer(host, 1).await;
        assert_eq!(questions(&first), [("roots-1", "roots/list")]);
        send(host, 2, "tools/call", &meta, &again(&call, &first, json!({"roots-1": {"roots": []}}))).await;
        for step in 9..=40 {
            let report = format!(r#"{{"progressToken":"t","progress":{step}}}"#);
            host.steps(&[&format!(r#"← {{"method":"notifications/progress","params":{report}}}"#)]).await;
        }
        says(&answer(host, 2).await, "answered");
    });
}

#[test]
fn a_state_is_for_one_request_of_one_kind_once() {
    with_host(async |_, host| {
        let call = json!({"name": "name", "arguments": {"x": 1, "y": 2}});
        let first = ask(host, 1, "tools/call", &call).await;
        let good = again(&call, &first, accept("a"));

        let mut tampered = good.clone();
        tampered["requestState"] = json!(format!("{}-TAMPERED", good["requestState"].as_str().unwrap()));
        fails(&ask(host, 2, "tools/call", &tampered).await, -32602);
        let mut other = good.clone();
        other["arguments"]["x"] = json!(2);
        fails(&ask(host, 3, "tools/call", &other).await, -32602);
        let mut prompt = good.clone();
        prompt["arguments"] = json!({"x": "1", "y": "2"});
        fails(&ask(host, 4, "prompts/get", &prompt).await, -32602);
        let mut made_up = good.clone();
        made_up["requestState"] = json!("AAAA");
        fails(&ask(host, 5, "tools/call", &made_up).await, -32602);
        made_up["requestState"] = json!(5);
        fails(&ask(host, 6, "tools/call", &made_up).await, -32602);
        // All of that has left the call waiting; the order of members means nothing.
        let mut same = good.clone();
        same["arguments"] = json!({"y": 2, "x": 1});
        says(&ask(host, 7, "tools/call", &same).await, r#"{"name":"a"}"#);
        fails(&ask(host, 8, "tools/call", &good).await, -32602);
    });
}

#[test]
fn malformed_answers_are_refused_and_the_call_goes_on_waiting() {
    with_host(async |_, host| {
        let call = json!({"name": "name"});
        let first = ask(host, 1, "tools/call", &call).await;
        for bad in
            [json!(null), json!([]), json!(5), json!({"user_name": 12345}), json!({"user_name": {"action": "maybe"}})]
        {
            fails(&ask(host, 2, "tools/call", &again(&call, &first, bad)).await, -32602);
        }
        let second = ask(host, 3, "tools/call", &again(&call, &first, json!({"other": {}}))).await;
        assert_eq!(questions(&second), [("user_name", "elicitation/create")]);
        says(&ask(host, 4, "tools/call", &again(&call, &second, accept("a"))).await, r#"{"name":"a"}"#);
    });
}

#[test]
fn answers_without_a_state_are_for_a_call_that_begins_anew() {
    with_host(async |_, host| {
        let with = |responses: Value| json!({"name": "name", "inputResponses": responses});
        says(&ask(host, 1, "tools/call", &with(accept("a"))).await, r#"{"name":"a"}"#);
        for wrong in [json!({}), json!({"wrong": {"action": "accept"}}), json!({"user_name": {"action": 5}})] {
            let answer = ask(host, 2, "tools/call", &with(wrong)).await;
            assert_eq!(questions(&answer), [("user_name", "elicitation/create")]);
        }
        fails(&ask(host, 3, "tools/call", &with(json!(null))).await, -32602);
        let mut more = accept("a");
        more["unknown"] = json!({"x": 1});
        says(&ask(host, 4, "tools/call", &with(more)).await, r#"{"name":"a"}"#);
    });
}

#[test]
fn what_the_client_does_not_declare_is_named() {
    with_host(async |_, host| {
        for (tool, meta, required) in [
            ("sample", "«2026»", json!({"sampling": {}})),
            ("roots", r#"«2026 {"sampling":{}}»"#, json!({"roots": {}})),
            ("form", r#"«2026 {"elicitation":{"url":{}}}»"#, json!({"elicitation": {}})),
            ("page", r#"«2026 {"elicitation":{}}»"#, json!({"elicitation": {"url": {}}})),
            ("ask-all", r#"«2026 {"roots":{}}»"#, json!({"sampling": {}, "elicitation": {}})),
            ("own", "«2026»", json!({"elicitation": {}})),
        ] {
            send(host, 1, "tools/call", meta, &json!({"name": tool})).await;
            let answer = answer(host, 1).await;
            fails(&answer, -32021);
            assert_eq!(answer["error"]["data"]["requiredCapabilities"], required, "{tool}");
        }
    });
}

#[test]
fn a_failure_unrelated_to_a_refused_question_is_passed_on() {
    with_host(async |_, host| {
        send(host, 1, "tools/call", "«2026»", &json!({"name": "cope"})).await;
        let answer = answer(host, 1).await;
        assert_eq!(answer["result"]["content"][0]["text"], "the disk is full", "{answer}");
        assert_eq!(answer["result"]["isError"], true);
    });
}

#[test]
fn only_three_methods_may_ask_and_none_may_ping() {
    with_host(async |_, host| {
        let argument = json!({"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "a", "value": "ask"}});
        let answer = ask(host, 1, "completion/complete", &argument).await;
        assert_eq!(answer["error"]["message"], "this request type cannot ask the client");
        let answer = ask(host, 2, "tools/call", &json!({"name": "ping 100"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "the client does not support ping");
    });
}

#[test]
fn a_url_elicitation_has_no_id() {
    with_host(async |_, host| {
        send(host, 1, "tools/call", r#"«2026 {"elicitation":{"url":{}}}»"#, &json!({"name": "page"})).await;
        let answer = answer(host, 1).await;
        let params = &answer["result"]["inputRequests"]["elicitation-1"]["params"];
        assert_eq!(*params, json!({"mode": "url", "message": "?", "url": "u"}));
    });
}

#[test]
fn a_parked_call_is_cancelled_when_its_time_is_up() {
    let limits = Limits { ask_timeout: Duration::from_secs(10), ..Limits::default() };
    play(limits, async |stage| {
        let mut host = stage.connect();
        let call = json!({"name": "ask-and-stay"});
        let first = ask(&mut host, 1, "tools/call", &call).await;
        assert_eq!(questions(&first).len(), 1);
        tokio::time::sleep(Duration::from_millis(9_900)).await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 0);
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 101, "its question fails, and it is cancelled");
        let roots = json!({"roots-1": {"roots": []}});
        fails(&ask(&mut host, 2, "tools/call", &again(&call, &first, roots)).await, -32602);
    });
}

#[test]
fn the_caller_with_most_parked_calls_gives_way() {
    play(Limits { max_parked: 2, ..Limits::default() }, async |stage| {
        let (mut ann, mut bob) = (stage.connect_as("ann"), stage.connect_as("bob"));
        let call = json!({"name": "ask-and-stay"});
        let first = ask(&mut ann, 1, "tools/call", &call).await;
        let second = ask(&mut ann, 2, "tools/call", &call).await;
        let other = ask(&mut bob, 1, "tools/call", &call).await;
        assert_eq!([&first, &second, &other].map(|answer| questions(answer).len()), [1, 1, 1]);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 101, "one handler is cancelled");
        let roots = json!({"roots-1": {"roots": []}});
        let late = ask(&mut ann, 3, "tools/call", &again(&call, &first, roots)).await;
        fails(&late, -32602);
        let why = late["error"]["message"].as_str().unwrap();
        assert!(why.ends_with("is used up or too old, or its call gave way to others; call again"), "{why}");
        // The others wait still.
        for (host, first) in [(&mut ann, &second), (&mut bob, &other)] {
            let again = ask(host, 4, "tools/call", &again(&call, first, json!({}))).await;
            assert_eq!(questions(&again).len(), 1);
        }
    });
}

#[test]
fn a_call_that_ends_while_parked_answers_the_next_request() {
    with_host(async |_, host| {
        let call = json!({"name": "impatient"});
        let first = ask(host, 1, "tools/call", &call).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        says(&ask(host, 2, "tools/call", &again(&call, &first, json!({}))).await, "not answered");
        let first = ask(host, 3, "tools/call", &call).await;
        let roots = json!({"roots-1": {"roots": []}});
        says(&ask(host, 4, "tools/call", &again(&call, &first, roots)).await, "answered");
    });
}

#[test]
fn calls_that_wait_are_bounded() {
    play(Limits { max_parked: 1, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        let call = json!({"name": "name"});
        let first = ask(&mut host, 1, "tools/call", &call).await;
        let refused = ask(&mut host, 2, "tools/call", &call).await;
        assert_eq!(refused["result"]["content"][0]["text"], "too many questions wait for the client's answer");
        says(&ask(&mut host, 3, "tools/call", &again(&call, &first, accept("a"))).await, r#"{"name":"a"}"#);
    });
}

#[test]
fn a_handler_may_keep_its_own_state_with_the_host() {
    with_host(async |_, host| {
        let call = json!({"name": "own"});
        let first = ask(host, 1, "tools/call", &call).await;
        assert_eq!(questions(&first), [("user_name", "elicitation/create")]);
        let second = ask(host, 2, "tools/call", &again(&call, &first, accept("a"))).await;
        assert_eq!(questions(&second), [("user_name", "elicitation/create")]);
        assert_ne!(first["result"]["requestState"], second["result"]["requestState"]);
        let last = again(&call, &second, accept("a"));
        says(&ask(host, 3, "tools/call", &last).await, "state 2");
        let mut changed = last.clone();
        changed["requestState"] = json!(format!("{}A", last["requestState"].as_str().unwrap()));
        fails(&ask(host, 4, "tools/call", &changed).await, -32602);
        // It is the host's to send again: nothing in this process is used up.
        says(&ask(host, 5, "tools/call", &last).await, "state 2");
    });
}

#[test]
fn a_state_is_for_who_got_it() {
    with_host(async |stage, host| {
        let call = json!({"name": "name"});
        let (mut me, mut you) = (stage.connect_as("me"), stage.connect_as("you"));
        let first = ask(&mut me, 1, "tools/call", &call).await;
        let params = again(&call, &first, accept("a"));
        fails(&ask(&mut you, 1, "tools/call", &params).await, -32602);
        fails(&ask(host, 1, "tools/call", &params).await, -32602);
        let mut me = stage.connect_as("me");
        says(&ask(&mut me, 2, "tools/call", &params).await, r#"{"name":"a"}"#);
    });
}

#[test]
fn a_resumed_call_is_cancelled_by_the_id_that_it_came_back_with() {
    with_host(async |stage, host| {
        let call = json!({"name": "ask-and-stay"});
        let first = ask(host, 1, "tools/call", &call).await;
        let roots = json!({"roots-1": {"roots": []}});
        send(host, 2, "tools/call", ALL, &again(&call, &first, roots)).await;
        host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#, "· 1000ms"]).await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 0);
        host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":2}}"#, "· 1000ms"]).await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 100);
    });
}

#[test]
fn a_server_that_stops_cancels_calls_that_wait() {
    with_host(async |stage, host| {
        let first = ask(host, 1, "tools/call", &json!({"name": "ask-and-stay"})).await;
        assert_eq!(questions(&first).len(), 1);
        stage.server.handle().shutdown();
        host.steps(&["← end"]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(stage.tools.closed.load(Ordering::SeqCst), 101);
    });
}

#[test]
fn no_question_is_asked_while_the_server_stops() {
    with_host(async |stage, host| {
        send(host, 1, "tools/call", ALL, &json!({"name": "late-form"})).await;
        host.steps(&["· 1ms"]).await;
        stage.server.handle().shutdown();
        let answer = answer(host, 1).await;
        assert_eq!(answer["result"]["content"][0]["text"], "the session or request has already ended");
        host.steps(&["← end"]).await;
    });
}

#[test]
fn with_a_session_several_questions_are_several_requests() {
    with_host(async |_, host| {
        host.steps(&[
            r#"→ hello 2025-11-25 {"sampling":{},"roots":{},"elicitation":{}}"#,
            r#"→ {"id":1,"method":"tools/call","params":{"name":"ask-all"}}"#,
            r#"← {"id":1,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{}}}"#,
            r#"← {"id":2,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":"hi"}],"maxTokens":9}}"#,
            r#"← {"id":3,"method":"roots/list","params":{}}"#,
            r#"→ {"id":3,"result":{"roots":[]}}"#,
            r#"→ {"id":1,"result":{"action":"accept"}}"#,
            r#"→ {"id":2,"result":{"role":"assistant","content":{},"model":"m"}}"#,
            r#"← {"id":1,"result":{"content":[{"type":"text","text":"Accept m 0"}]}}"#,
        ])
        .await;
    });
}
