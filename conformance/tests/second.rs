//! A second implementation of the envelope protocol, which shares no code with ours (`conformance/second`): it passes
//! the vectors, and serves tools behind the bridge.

use std::path::{Path, PathBuf};
use std::process::Command;

use protomcp_conformance::{Host, Sandbox, eventually, peers};
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A session with the process, for a client with these capabilities.
fn session(capabilities: &Value) -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    let file = folder("second/tool.py");
    let launch = sandbox.pmcp(&["run", file.to_str().expect("the path is text")]);
    let host = launch.env("PYTHONDONTWRITEBYTECODE", "1").start();
    let id = host.begin_with("2025-11-25", capabilities);
    host.answer(id);
    (host, sandbox)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

#[test]
fn it_passes_every_vector() {
    let mut python = Command::new(peers().join("py/bin/python"));
    let output = python.arg("-B").arg(folder("second/vectors.py")).arg(folder("vectors")).output();
    let output = output.expect("python starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains(" vectors pass, 0 fail"), "{told}");
}

#[test]
fn a_vector_with_a_changed_byte_fails() {
    let sandbox = Sandbox::new();
    for file in ["envelopes", "frames", "results", "conversations"] {
        let vectors = std::fs::read_to_string(folder("vectors").join(format!("{file}.json"))).expect("it is there");
        // "req-" in the bytes of an id becomes "req/".
        let changed = vectors.replace("7265712d", "7265712f");
        assert_ne!(changed, vectors);
        sandbox.write(&format!("{file}.json"), changed);
    }
    let mut python = Command::new(peers().join("py/bin/python"));
    let output = python.arg("-B").arg(folder("second/vectors.py")).arg(sandbox.path("")).output();
    let output = output.expect("python starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && told.contains("envelopes: call_tool:"), "{told}");
}

#[test]
fn its_tools_are_listed_and_called() {
    let (host, _sandbox) = session(&json!({}));
    let names = host.names();
    assert!(names.contains(&"add".to_owned()) && !names.contains(&"secret".to_owned()), "{names:?}");
    assert_eq!(host.tool("echo")["title"], "Echo");
    assert_eq!(host.tool("count")["annotations"], json!({"destructiveHint": false}));
    let sum = host.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!((text(&sum), &sum["structuredContent"]), ("3", &json!({"sum": 3})));
    assert_eq!(host.call("fail", &json!({}))["_meta"]["protomcp/error"]["error_code"], "OUT_OF_PAPER");
    let known: Value = serde_json::from_str(&host.text("meta", &json!({}))).expect("it is JSON");
    assert!(known["context"]["timeout_ms"].is_u64() && known["context"]["client_name"].is_string(), "{known}");
    assert!(host.error_text("echo", &json!({"text": "rude"})).contains("be polite"));
    assert_eq!(host.text("echo", &json!({"text": "hey"})), "HEY!", "both middlewares run");
}

#[test]
fn its_large_results_arrive_whole() {
    let (host, _sandbox) = session(&json!({}));
    let letters = "x".repeat(200_000);
    assert_eq!(host.text("large", &json!({"size": 200_000})), letters, "a compressed payload");
    assert_eq!(host.text("large", &json!({"size": 200_000, "chunk": 7000})), letters, "chunks");
    assert_eq!(host.error_text("large", &json!({"size": 200_000, "error": true})), letters, "a payload and the rest");
}

#[test]
fn its_list_changes_in_a_call_and_in_a_result() {
    let (host, _sandbox) = session(&json!({}));
    let place = host.now();
    assert!(host.text("reveal", &json!({})).split(' ').any(|name| name == "secret"));
    host.list_changed(place);
    assert_eq!(host.text("secret", &json!({})), "42");
    let place = host.now();
    assert_eq!(host.call("hide", &json!({}))["_meta"]["example.org/hidden"], 1);
    host.list_changed(place);
    assert!(!host.names().contains(&"secret".to_owned()));
}

#[test]
fn it_reports_progress_and_notices_a_cancellation() {
    let (host, _sandbox) = session(&json!({}));
    let place = host.now();
    let params = json!({"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "t"}});
    assert_eq!(text(&host.ask("tools/call", &params)), "counted");
    let told = host.notifications("notifications/progress", place);
    assert_eq!(told.last().expect("progress is sent").value["params"]["message"], "step 3");
    let id = host.start_call("wait", &json!({}));
    let logged = |data: &'static str| {
        host.wait_for(data, place, move |message| {
            message.method() == "notifications/message" && message.value["params"]["data"] == data
        })
    };
    logged("waiting");
    host.tell("notifications/cancelled", &json!({"requestId": id}));
    host.stderr_with("cancelled");
    assert_eq!(host.text("add", &json!({"a": 1, "b": 1})), "2");
    assert!(host.answered(id).is_none());
}

#[test]
fn it_asks_the_model_the_user_and_for_roots() {
    let (host, _sandbox) = session(&json!({"sampling": {}, "roots": {}, "elicitation": {}}));
    let cases = [
        ("sample", json!({"text": "hi"}), "sampling/createMessage"),
        ("roots", json!({}), "roots/list"),
        ("confirm", json!({"text": "Sure?"}), "elicitation/create"),
    ];
    let answers = [
        json!({"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}),
        json!({"roots": [{"uri": "file:///srv"}]}),
        json!({"action": "accept", "content": {"sure": true}}),
    ];
    let told = ["hello", "file:///srv", r#"accept {"sure":true}"#];
    for (((tool, arguments, method), answer), told) in cases.into_iter().zip(answers).zip(told) {
        let place = host.now();
        let call = host.start_call(tool, &arguments);
        let question = host.wait_for(method, place, |message| message.method() == method);
        host.reply(&question, &answer);
        assert_eq!(text(&host.answer(call).value["result"]), told);
    }
}

#[test]
fn a_question_that_cannot_be_answered_fails_its_call() {
    let (host, _sandbox) = session(&json!({}));
    let result = host.call("sample", &json!({"text": "hi"}));
    assert_eq!(result["_meta"]["protomcp/error"]["error_code"], "REFUSED", "{result}");
}

#[test]
fn its_task_is_polled() {
    let (host, _sandbox) = session(&json!({}));
    assert_eq!(host.tool("job")["execution"]["taskSupport"], "optional");
    assert_eq!(host.text("job", &json!({})), "job-1 is done", "the bridge polls for a client that wants no task");
    let params = json!({"name": "job", "arguments": {}, "task": {"ttl": 60000}});
    let task = host.ask("tools/call", &params)["task"]["taskId"].clone();
    eventually("the task to end", || {
        let status = host.ask("tasks/get", &json!({"taskId": task}))["status"].clone();
        (status == "completed").then_some(())
    });
    assert_eq!(text(&host.ask("tasks/result", &json!({"taskId": task}))), "job-2 is done");
}

#[test]
fn its_resources_prompts_and_completions_are_served() {
    let (host, _sandbox) = session(&json!({}));
    let resources = host.ask("resources/list", &json!({}))["resources"].clone();
    assert_eq!(resources[0]["title"], "Memo One");
    assert_eq!((&resources[1]["uri"], &resources[1]["_meta"]), (&json!("ui://second/add"), &json!({"ui": {}})));
    assert_eq!(host.tool("add")["_meta"], json!({"ui": {"resourceUri": "ui://second/add"}}));
    let app = host.ask("resources/read", &json!({"uri": "ui://second/add"}))["contents"][0].clone();
    assert_eq!(app["_meta"], json!({"ui": {"prefersBorder": true}}));
    let templates = host.ask("resources/templates/list", &json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "memo://{name}");
    let contents = host.ask("resources/read", &json!({"uri": "memo://one"}))["contents"].clone();
    assert_eq!((&contents[0]["text"], &contents[1]["blob"]), (&json!("buy milk"), &json!("iVA=")));
    assert_eq!(host.refused("resources/read", &json!({"uri": "memo://none"}))["code"], -32002);
    let broken = host.refused("resources/read", &json!({"uri": "memo://broken"}));
    assert!(broken["message"].as_str().is_some_and(|text| text.contains("the disk is broken")), "{broken}");
    let prompt = host.ask("prompts/get", &json!({"name": "greet", "arguments": {"who": "Ada"}}));
    assert_eq!(prompt["messages"][0]["content"]["text"], "Hello, Ada!");
    let reference = json!({"type": "ref/prompt", "name": "greet"});
    let complete = |context: Value| {
        let argument = json!({"name": "who", "value": "A"});
        let params = json!({"ref": reference, "argument": argument, "context": context});
        host.ask("completion/complete", &params)["completion"]["values"].clone()
    };
    assert_eq!(complete(json!({})), json!(["Ada", "Alan"]));
    assert_eq!(complete(json!({"arguments": {"how": "Ada"}})), json!(["Alan"]));
}
