//! A tool call from the host's arguments to the host's result (docs/envelope.md, "Calls"; MCP 2025-11-25, server/tools).

use protomcp_conformance::{Scene, eventually, rust_session, session};
use protomcp_envelope::{CallToolResponse, Msg, ProgressNotification, ToolError};
use serde_json::{Value, json};

/// Item 36.
#[test]
fn text_of_the_python_sdk_arrives_exactly() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    let result = host.call("echo", &json!({"text": "hello"}));
    assert_eq!(result["content"], json!([{"type": "text", "text": "hello"}]));
    for text in ["", "  two  spaces\nand a line\ttab", "Grüße 你好 🦀 \u{2028}\u{0} \\ \" </script>"] {
        assert_eq!(host.text("echo", &json!({"text": text})), text);
    }
    assert_eq!(host.text("greet", &json!({"name": "Jürgen"})), "Grüß dich, Jürgen! 你好 🦀 \u{2028} é");
}

/// Item 37.
#[test]
fn arguments_reach_the_tool_process_byte_for_byte() {
    let mut scene = Scene::open(&[], &["echo"]);
    let rows = [
        (r#"{"z":1,"a":123456789012345678901234567890,"u":"\u00e9\/","f":1.0e+2}"#, None),
        (r#"{ "spaced" : [ 1 , 2 ] }"#, None),
        ("{}", None),
        // Missing arguments are an empty object.
        ("", Some("{}")),
    ];
    for (number, (arguments, wanted)) in rows.into_iter().enumerate() {
        let arguments_member =
            if arguments.is_empty() { String::new() } else { format!(r#","arguments":{arguments}"#) };
        let id = format!("call-{number}");
        scene.host.line(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"echo"{arguments_member}}}}}"#
        ));
        let (call, request) = scene.peer.call();
        assert_eq!(String::from_utf8_lossy(&request.arguments_json), wanted.unwrap_or(arguments));
        assert_eq!(request.progress_token, "", "the host gave no token");
        scene.peer.result(&call, r#""ok""#);
        scene.host.answer(id);
    }
}

/// Items 38, 39.
#[test]
fn every_shape_of_result_json_becomes_content() {
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {"priority": 0.5}});
    let audio = json!({"type": "audio", "data": "aGk=", "mimeType": "audio/wav", "_meta": {"k": 1}});
    let resource = json!({"type": "resource", "resource": {"uri": "a://b", "mimeType": "text/plain", "text": "t"}, "annotations": {"audience": ["user"]}});
    let link = json!({"type": "resource_link", "uri": "a://b", "name": "b", "size": 3, "title": "B"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let rows: Vec<(String, Value)> = vec![
        (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#.into(), json!([text("a"), text("b")])),
        (r#""3""#.into(), json!([text("3")])),
        (r#""\"3\"""#.into(), json!([text("\"3\"")])),
        (r#"{"n":1}"#.into(), json!([text(r#"{"n":1}"#)])),
        ("17".into(), json!([text("17")])),
        ("true".into(), json!([text("true")])),
        ("plain words".into(), json!([text("plain words")])),
        (String::new(), json!([])),
        ("[]".into(), json!([])),
        (r#"["loose",4,{"type":"text","text":"a"}]"#.into(), json!([text("\"loose\""), text("4"), text("a")])),
        (json!([image]).to_string(), json!([image])),
        (json!([audio, text("and text")]).to_string(), json!([audio, text("and text")])),
        (json!([resource]).to_string(), json!([resource])),
        (json!([link]).to_string(), json!([link])),
    ];
    let mut scene = Scene::open(&[], &["echo"]);
    for (json, wanted) in rows {
        let id = scene.host.start_call("echo", &json!({}));
        let (call, _) = scene.peer.call();
        scene.peer.result(&call, &json);
        let result = scene.host.answer(id).value["result"].take();
        // A loose string in an array may be shown with or without its quotes; all else is exact.
        if json.starts_with(r#"["loose""#) {
            let first = result["content"][0]["text"].as_str().unwrap_or_default();
            assert_eq!(first.trim_matches('"'), "loose", "{result}");
            assert_eq!(result["content"][1], wanted[1]);
            assert_eq!(result["content"][2], wanted[2]);
        } else {
            assert_eq!(result["content"], wanted, "result_json {json}");
        }
        assert_ne!(result["isError"], true, "result_json {json}");
    }
}

/// Item 39.
#[test]
fn a_block_of_an_unknown_type_is_not_lost() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.result(&call, r#"[{"type":"hologram","data":"3d"}]"#);
    let block = scene.host.answer(id).value["result"]["content"][0].take();
    assert_eq!(block["type"], "text");
    let shown: Value = serde_json::from_str(block["text"].as_str().expect("a text")).expect("the block as JSON");
    assert_eq!(shown, json!({"type": "hologram", "data": "3d"}));
}

/// Items 40, 41.
#[test]
fn an_error_result_is_a_result_with_all_its_details() {
    let (py, _sandbox) = session("run", "py/basics.py", &[]);
    let result = py.call("fail_with_code", &json!({}));
    assert_eq!(result["isError"], true);
    let all = result["content"].to_string();
    for part in ["it broke", "the gear is stuck", "oil it"] {
        assert!(all.contains(part), "{part:?} is missing in {all}");
    }
    let detail = detail(&result);
    assert_eq!(
        detail,
        json!({"error_code": "BROKEN", "message": "the gear is stuck", "suggestion": "oil it", "retryable": true})
    );
    assert_eq!(py.error_text("fail_with_text", &json!({})), "just broken");

    let (rs, _sandbox) = rust_session("run", &[]);
    let result = rs.call("fail", &json!({}));
    assert_eq!(result["isError"], true);
    assert!(result["content"].to_string().contains("mend it"), "{result}");
}

/// Item 41.
#[test]
fn an_error_without_any_text_still_says_what_went_wrong() {
    let mut scene = Scene::open(&[], &["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    let (call, _) = scene.peer.call();
    let error =
        ToolError { error_code: "E".into(), message: "only here".into(), suggestion: "try b".into(), retryable: false };
    scene.peer.send(&call, CallToolResponse { is_error: true, error: Some(error), ..CallToolResponse::default() });
    let result = scene.host.answer(id).value["result"].take();
    let all = result["content"].to_string();
    assert!(all.contains("only here") && all.contains("try b"), "{result}");
}

/// The machine-readable part of an error result, under the project's key in `_meta`.
fn detail(result: &Value) -> Value {
    let meta = result["_meta"].as_object().unwrap_or_else(|| panic!("an error carries _meta: {result}"));
    let found = meta.values().find(|value| value.get("error_code").is_some());
    found.unwrap_or_else(|| panic!("no error_code in {meta:?}")).clone()
}

/// Item 42.
#[test]
fn structured_content_arrives_digit_for_digit() {
    let (py, _sandbox) = session("run", "py/basics.py", &[]);
    let id = py.start_call("structured", &json!({}));
    let message = py.answer(id);
    assert!(message.text.contains("9007199254740993"), "{}", message.text);
    assert_eq!(message.value["result"]["structuredContent"]["text"], "é");
    assert_eq!(py.call("structured_empty", &json!({}))["structuredContent"], json!({}));

    let mut scene = Scene::open(&[], &["echo"]);
    for (structured, fine) in
        [(r#"{"n":1e40,"a":0.10}"#, true), ("[1]", false), ("null", false), (r#""text""#, false), ("{", false)]
    {
        let id = scene.host.start_call("echo", &json!({}));
        let (call, _) = scene.peer.call();
        let structured_content_json = structured.to_owned().into_bytes().into();
        scene.peer.send(&call, CallToolResponse { structured_content_json, ..CallToolResponse::default() });
        let answer = scene.host.answer_text(id);
        if fine {
            assert!(answer.contains(&format!(r#""structuredContent":{structured}"#)), "{answer}");
        } else {
            assert!(answer.contains("invalid structured content"), "{structured}: {answer}");
            assert!(answer.contains(r#""isError":true"#), "{structured}: {answer}");
        }
    }
}

/// Item 43.
#[test]
fn a_promised_schema_is_kept_or_not_shown() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    let fitting = host.call("weather_json", &json!({"city": "Ulm"}));
    assert_eq!(
        fitting["structuredContent"],
        json!({"city": "Ulm", "degrees": 21}),
        "JSON text that fits is structured"
    );
    let prose = host.call("weather_prose", &json!({"city": "Ulm"}));
    assert_eq!(prose["content"][0]["text"], "mild in Ulm");
    assert_ne!(prose["isError"], true, "no result is lost");
    assert!(host.tool("weather_prose").get("outputSchema").is_none(), "the promise is not passed on");
}

/// Item 44.
#[test]
fn a_handler_with_keyword_arguments_works_despite_its_schema() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    assert_eq!(host.tool("echo_args")["inputSchema"]["required"], json!(["kwargs"]), "the SDK's schema is wrong");
    assert_eq!(host.text("echo_args", &json!({"message": "hello"})), "[('message', 'hello')]");
}

/// Item 44.
#[test]
fn mismatched_arguments_are_logged_and_rejected_only_on_request() {
    let arguments = json!({"ctiy": "Rome"});
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    // The handler gets them, and reports the mismatch itself.
    assert!(host.error_text("weather_json", &arguments).contains("unexpected keyword argument"));
    host.stderr_with(r#""city" is missing (string); is "ctiy" a misspelling of it?"#);
    let (host, _sandbox) = session("run", "py/basics.py", &["--validate-args=reject"]);
    let text = host.error_text("weather_json", &arguments);
    assert!(text.ends_with(r#""city" is missing (string); is "ctiy" a misspelling of it?"#), "{text}");
}

/// Item 45.
#[test]
fn an_exception_of_a_handler_is_an_error_result_with_its_text() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    assert_eq!(host.error_text("raise_error", &json!({})), "the handler raised on purpose");
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
}

/// Item 45.
#[test]
fn a_panic_of_a_handler_fails_only_its_own_call() {
    let (host, _sandbox) = rust_session("run", &[]);
    let before = host.text("pid", &json!({}));
    let text = host.error_text("panic", &json!({}));
    assert!(text.contains("101"), "the exit status is named: {text}");
    assert!(text.contains("panicked on purpose"), "the last words are shown: {text}");
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
    assert_ne!(host.text("pid", &json!({})), before, "it is a new process");
}

/// Items 46, 47.
#[test]
fn a_call_that_is_never_answered_ends_at_the_call_timeout() {
    let (host, _sandbox) = session("run", "py/basics.py", &["--call-timeout", "1s"]);
    let text = host.error_text("leave", &json!({"status": 1}));
    assert!(text.contains(r#"call tool "leave" timed out after 1s"#), "{text}");
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
}

/// Item 47.
#[test]
fn a_timed_out_call_is_cancelled_and_its_late_answer_ignored() {
    let mut scene = Scene::open(&["--call-timeout=300ms"], &["slow"]);
    let id = scene.host.start_call("slow", &json!({}));
    let (call, _) = scene.peer.call();
    assert_eq!(scene.host.answer(id).value["result"]["isError"], true);
    let cancel = scene.peer.request();
    assert!(matches!(&cancel.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == call), "{cancel:?}");
    scene.peer.result(&call, r#""late""#);
    // On a busy machine some answers are late, too.
    eventually("an answer in time", || {
        let next = scene.host.start_call("slow", &json!({}));
        let (call, _) = scene.peer.call();
        scene.peer.result(&call, r#""in time""#);
        let result = scene.host.answer(next).value["result"].take();
        if result["isError"] == true {
            assert_eq!(scene.peer.request().name(), "cancel");
            return None;
        }
        assert_eq!(result["content"][0]["text"], "in time");
        Some(())
    });
    let answers = scene.host.seen().into_iter().filter(|message| message.value["id"] == id).count();
    assert_eq!(answers, 1, "one request, one answer");
}

/// Item 48.
#[test]
fn a_program_gets_concurrent_calls_with_distinct_ids() {
    let mut scene = Scene::open(&[], &["echo"]);
    let ids: Vec<u64> = (0..8).map(|n| scene.host.start_call("echo", &json!({"n": n}))).collect();
    let calls: Vec<_> = (0..8).map(|_| scene.peer.call()).collect();
    let mut names: Vec<&str> = calls.iter().map(|(id, _)| id.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 8, "an id is never reused while it is in flight");
    for (call, request) in calls.iter().rev() {
        scene.peer.result(call, &String::from_utf8_lossy(&request.arguments_json));
    }
    for (n, id) in ids.into_iter().enumerate() {
        let text = scene.host.answer(id).value["result"]["content"][0]["text"].take();
        assert_eq!(text, format!(r#"{{"n":{n}}}"#));
    }
}

/// Items 48, 62.
#[test]
fn a_python_file_gets_one_call_at_a_time_in_order() {
    let mut scene = Scene::with_tools("run", "relay.py", &[], vec![protomcp_conformance::tool("echo")]);
    let ids: Vec<u64> = (0..3).map(|n| scene.host.start_call("echo", &json!({"n": n}))).collect();
    for (n, id) in ids.into_iter().enumerate() {
        let (call, request) = scene.peer.call();
        assert_eq!(request.arguments_json, format!(r#"{{"n":{n}}}"#));
        let early = scene.peer.request_within(std::time::Duration::from_millis(100));
        assert!(early.is_none(), "a second call was written while the first was running: {early:?}");
        scene.peer.result(&call, r#""done""#);
        scene.host.answer(id);
    }
}

/// Items 51, 52, 53.
#[test]
fn progress_has_the_clients_token_and_precedes_the_answer() {
    let mut scene = Scene::open(&[], &["count"]);
    for token in [json!("text"), json!(7), json!("7")] {
        let place = scene.host.now();
        let params = json!({"name": "count", "arguments": {}, "_meta": {"progressToken": token}});
        let id = scene.host.request("tools/call", &params);
        let (call, request) = scene.peer.call();
        assert!(!request.progress_token.is_empty());
        let progress = |progress, total, message: &str| ProgressNotification {
            progress_token: request.progress_token.clone(),
            progress,
            total,
            message: message.to_owned(),
        };
        scene
            .peer
            .send("", ProgressNotification { progress_token: "made up".to_owned(), progress: 9, ..progress(0, 0, "") });
        scene.peer.send("", progress(1, 0, ""));
        scene.peer.send("", progress(2, 3, "two"));
        scene.peer.result(&call, r#""done""#);
        scene.peer.send("", progress(3, 3, "too late"));
        let answer = scene.host.answer(id);
        let told = scene.host.notifications("notifications/progress", place);
        let params: Vec<_> = told.iter().map(|message| message.value["params"].clone()).collect();
        let wanted = [
            json!({"progressToken": token, "progress": 1}),
            json!({"progressToken": token, "progress": 2, "total": 3, "message": "two"}),
        ];
        assert_eq!(params, wanted);
        assert!(told.iter().all(|message| message.place < answer.place), "progress comes before the answer");
    }
}

/// Item 54.
#[test]
fn a_cancelled_call_is_not_answered_and_its_handler_is_notified() {
    let (host, sandbox) = session("run", "py/basics.py", &[]);
    let note = sandbox.path("note");
    let id = host.start_call("until_cancelled", &json!({"note": note}));
    let read = || std::fs::read_to_string(&note).unwrap_or_default();
    eventually("the handler to run", || (read() == "running").then_some(()));
    host.tell("notifications/cancelled", &json!({"requestId": id, "reason": "a test"}));
    eventually("the handler's finally block", || (read() == "finally ran").then_some(()));
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
    assert!(host.answered(id).is_none());
}

/// Items 55, 56.
#[test]
fn a_call_cancelled_in_the_queue_never_reaches_the_tool_process() {
    let mut scene = Scene::with_tools("run", "relay.py", &[], vec![protomcp_conformance::tool("echo")]);
    let first = scene.host.start_call("echo", &json!({"n": 1}));
    let (call, _) = scene.peer.call();
    let queued = scene.host.start_call("echo", &json!({"n": 2}));
    scene.host.tell("notifications/cancelled", &json!({"requestId": queued}));
    scene.host.tell("notifications/cancelled", &json!({"requestId": "unknown"}));
    let last = scene.host.start_call("echo", &json!({"n": 3}));
    scene.host.ask("ping", &json!({}));
    scene.peer.result(&call, r#""one""#);
    scene.host.answer(first);
    let (call, request) = scene.peer.call();
    assert_eq!(request.arguments_json, r#"{"n":3}"#);
    scene.peer.result(&call, r#""three""#);
    scene.host.answer(last);
    assert!(scene.host.answered(queued).is_none());
}
