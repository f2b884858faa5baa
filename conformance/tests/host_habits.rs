//! The habits of hosts that break strict servers: each is understood, on every transport.

mod transports;

use protomcp_conformance::{Host, Message, Sandbox, Web, living, session};
use serde_json::{Value, json};

/// The arguments that arrive at a tool.
fn shown(host: &Host, arguments: &Value) -> Value {
    serde_json::from_str(&host.text("show", arguments)).expect("the tool prints JSON")
}

/// A plain server of the test's own: strict, and without resources and prompts.
const STRICT: &str = r#"
import json, sys
SCHEMA = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "show", "inputSchema": SCHEMA}]}}
    else:
        answer = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

#[test]
fn values_that_arrive_as_json_text_are_decoded() {
    let (host, _sandbox) = session("run", "py/habits.py", &[]);
    let sent = json!({"ids": "[1, 2]", "filter": "{\"a\": \"b\"}", "count": "890", "text": "[1, 2]"});
    let expected = json!({"ids": [1, 2], "filter": {"a": "b"}, "count": 890, "text": "[1, 2]"});
    assert_eq!(shown(&host, &sent), expected);
    assert_eq!(shown(&host, &expected), expected);
    // Nothing in the text fits the schema, so it stays a text, and the tool decides.
    assert_eq!(shown(&host, &json!({"text": "null"}))["text"], "null");
}

#[test]
fn values_that_arrive_as_json_text_are_decoded_over_http() {
    let mut web = Web::start("py/habits.py", &["--transport", "http", "--validate-args", "reject", "--metrics"]);
    web.initialize();
    let reply = web.call("show", &json!({"ids": "[3]"})).json();
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("\"ids\": [3]"), "{reply}");
    let metrics = web.send("GET", "/metrics", &[], "").body;
    assert!(metrics.contains("pmcp_decoded_arguments_total 1\n"), "{metrics}");
}

#[test]
fn arguments_may_be_absent_or_null() {
    let (host, _sandbox) = session("run", "py/habits.py", &["--validate-args", "reject"]);
    for params in [
        json!({"name": "hello"}),
        json!({"name": "hello", "arguments": null}),
        json!({"name": "hello", "arguments": {}}),
    ] {
        let result = host.ask("tools/call", &params);
        assert_eq!(result["content"][0]["text"], "hello", "{params}");
    }
}

#[test]
fn lists_that_a_server_does_not_have_are_empty() {
    let (host, _sandbox) = session("run", "py/habits.py", &[]);
    let sandbox = Sandbox::new();
    sandbox.write("strict.py", STRICT);
    let behind = sandbox.pmcp(&["run", "--", "python3", "strict.py"]).start();
    let declared = behind.initialize();
    assert!(declared["capabilities"].get("resources").is_none(), "{declared}");
    for host in [&host, &behind] {
        for (method, member) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            assert_eq!(host.ask(method, &json!({}))[member], json!([]), "{method}");
        }
    }
}

#[test]
fn capabilities_may_be_any_json() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/habits.py");
    let host = sandbox.pmcp(&["run", "habits.py"]).start();
    let id =
        host.begin_with("2025-06-18", &json!({"tools": true, "logging": false, "roots": true, "sampling": [], "x": 1}));
    assert_eq!(host.answer(id).value["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(host.text("hello", &json!({})), "hello");
}

/// A capability is declared, and the request for it fails.
#[test]
fn a_failing_request_to_the_host_ends_no_session() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/habits.py");
    let host = sandbox.pmcp(&["run", "habits.py"]).start();
    let id = host.begin_with("2025-06-18", &json!({"sampling": {}, "roots": {"listChanged": true}}));
    host.answer(id);
    let place = host.now();
    let call = host.start_call("ask", &json!({}));
    let asked: Message = host.wait_for("a question", place, |message| message.method() == "sampling/createMessage");
    let refusal = json!({"jsonrpc": "2.0", "id": asked.value["id"], "error": {"code": -32601, "message": "no"}});
    host.line(&refusal.to_string());
    assert!(host.answer(call).value["result"].is_object(), "the call has its result");
    assert_eq!(host.text("hello", &json!({})), "hello");
}

#[test]
fn frames_with_headers_are_read() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/habits.py");
    let host = sandbox.pmcp(&["run", "habits.py"]).start();
    let framed = |message: &Value| {
        let body = message.to_string();
        host.bytes(
            format!("Content-Length: {}\r\nContent-Type: application/json\r\n\r\n{body}", body.len()).as_bytes(),
        );
    };
    let info =
        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "cline", "version": "1"}});
    framed(&json!({"jsonrpc": "2.0", "id": 1000, "method": "initialize", "params": info}));
    assert_eq!(host.answer(1000).value["result"]["protocolVersion"], "2024-11-05");
    framed(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    // The same host may also write lines.
    assert_eq!(host.text("hello", &json!({})), "hello");
}

#[test]
fn every_older_revision_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/habits.py");
        let host = sandbox.pmcp(&["run", "habits.py"]).start();
        assert_eq!(host.initialize_as(version)["protocolVersion"], version);
        assert_eq!(host.text("hello", &json!({})), "hello");
    }
}

#[test]
fn one_host_may_start_the_same_server_twice() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/habits.py");
    let hosts = [(); 2].map(|()| sandbox.pmcp(&["dev", "habits.py"]).start());
    for host in &hosts {
        host.initialize();
    }
    for host in &hosts {
        assert_eq!(host.text("hello", &json!({})), "hello");
    }
    // Both end before either is checked for processes that it has left.
    hosts.iter().for_each(Host::hang_up);
    assert!(hosts.iter().all(|host| host.exit().success()));
}

/// Hosts close standard input and kill two seconds later, or kill immediately.
#[test]
fn the_end_of_the_input_ends_everything() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/habits.py");
    let host = sandbox.pmcp(&["run", "habits.py"]).start();
    host.initialize();
    host.hang_up();
    assert!(host.exit().success());
    assert_eq!(living(sandbox.marker()), []);
}

#[test]
fn progress_without_a_token_goes_nowhere() {
    let (host, _sandbox) = session("run", "py/habits.py", &[]);
    let place = host.now();
    assert_eq!(host.text("hello", &json!({})), "hello");
    assert!(host.notifications("notifications/progress", place).is_empty());
    let with_token = json!({"name": "hello", "arguments": {}, "_meta": {"progressToken": 7}});
    host.ask("tools/call", &with_token);
    assert_eq!(host.notifications("notifications/progress", place).len(), 1);
}
