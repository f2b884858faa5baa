//! Clients of MCP 2026-07-28, which has no handshake: every request describes itself completely.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use protomcp_conformance::{Host, Message, Sandbox, Stage, Web, living, tool};
use protomcp_envelope::{ResourceChangedNotification, ResourceDefinition};
use serde_json::{Value, json};

fn start(mode: &str, file: &str) -> Host {
    let sandbox = Sandbox::new();
    sandbox.copy(&format!("py/{file}"));
    sandbox.pmcp(&[mode, file]).start()
}

/// The parameters of a request from a client with these capabilities.
fn with(capabilities: &Value, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
    });
    params
}

#[test]
fn a_host_discovers_lists_and_calls_without_a_handshake() {
    let host = start("run", "basics.py");
    let plain = |params| with(&json!({}), params);
    let found = host.ask("server/discover", &plain(json!({})));
    assert_eq!(found["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "protomcp");
    assert_eq!(found["capabilities"]["tools"]["listChanged"], true);
    for result in [&found, &host.ask("tools/list", &plain(json!({})))] {
        assert_eq!(result["resultType"], "complete");
        assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
    }
    let result = host.ask("tools/call", &plain(json!({"name": "echo", "arguments": {"text": "hello"}})));
    assert_eq!((&result["resultType"], &result["content"][0]["text"]), (&json!("complete"), &json!("hello")));

    // A list change by a call affects no other request.
    let names = |host: &Host| host.ask("tools/list", &plain(json!({})))["tools"].clone();
    let before = names(&host);
    host.ask("tools/call", &plain(json!({"name": "reveal"})));
    assert_eq!(names(&host), before);

    for (method, params, code) in [
        ("tools/list", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}), -32602),
        ("ping", plain(json!({})), -32601),
        ("tools/call", plain(json!({"name": "no_such_tool"})), -32602),
    ] {
        assert_eq!(host.refused(method, &params)["code"], code, "{method}");
    }
    // A session is opened as well.
    host.initialize();
    assert_eq!(host.text("echo", &json!({"text": "still here"})), "still here");
}

#[test]
fn a_listening_client_is_notified_of_a_reload() {
    let sandbox = Sandbox::new();
    let file = |name: &str| {
        format!(
            "from protomcp import tool\nfrom protomcp.runner import run\n\n@tool(\"Says its name.\")\ndef {name}() -> str:\n    return \"{name}\"\n\nif __name__ == \"__main__\":\n    run()\n"
        )
    };
    sandbox.write("tools.py", file("original"));
    let host = sandbox.pmcp(&["dev", "tools.py"]).start();
    let names = || host.ask("tools/list", &with(&json!({}), json!({})))["tools"].clone();
    assert_eq!(names()[0]["name"], "original");
    let place = host.now();
    let listen = host.request(
        "subscriptions/listen",
        &with(&json!({}), json!({"notifications": {"toolsListChanged": true, "promptsListChanged": false}})),
    );
    let acknowledged = host.notified("notifications/subscriptions/acknowledged", place);
    assert_eq!(acknowledged.value["params"]["notifications"], json!({"toolsListChanged": true}));
    let place = host.now();
    sandbox.write("tools.py", file("renamed"));
    let changed = host.list_changed(place);
    assert_eq!(changed.value["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
    assert_eq!(names()[0]["name"], "renamed");

    host.hang_up();
    let ended = host.answer(listen).value;
    assert_eq!(ended["result"]["resultType"], "complete");
    assert_eq!(ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
    assert!(host.exit().success());
    assert!(living(sandbox.marker()).is_empty());
}

#[test]
fn two_subscriptions_on_one_connection_stay_separate() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    for name in ["a", "b"] {
        let resource = ResourceDefinition { uri: format!("memo://{name}"), name: name.into(), ..Default::default() };
        peer.resources.push(resource);
    }
    peer.handshake(vec![tool("echo")]);
    let id = host.request("resources/list", &with(&json!({}), json!({})));
    peer.settle(|| host.answered(id).is_some());
    let listen = |uri: &str| {
        host.request(
            "subscriptions/listen",
            &with(&json!({}), json!({"notifications": {"resourceSubscriptions": [uri]}})),
        )
    };
    let (a, b) = (listen("memo://a"), listen("memo://b"));
    let own = |message: &Message| {
        let params = &message.value["params"];
        (params["_meta"]["io.modelcontextprotocol/subscriptionId"].clone(), params["uri"].clone())
    };
    let acknowledged = "notifications/subscriptions/acknowledged";
    peer.settle(|| host.notifications(acknowledged, 0).len() == 2);
    let ids: Vec<_> = host.notifications(acknowledged, 0).iter().map(|message| own(message).0).collect();
    assert_eq!(ids, [json!(a), json!(b)]);
    for uri in ["memo://b", "memo://a"] {
        peer.send("", ResourceChangedNotification { uri: uri.into() });
        let updated = host.wait_for(uri, 0, |message| message.value["params"]["uri"] == uri);
        assert_eq!(updated.method(), "notifications/resources/updated");
    }
    // One of them is cancelled, and the other stays.
    host.tell("notifications/cancelled", &json!({"requestId": b}));
    // A later answer shows that the cancellation was read.
    host.ask("server/discover", &with(&json!({}), json!({})));
    let place = host.now();
    for uri in ["memo://b", "memo://a"] {
        peer.send("", ResourceChangedNotification { uri: uri.into() });
    }
    host.wait_for("memo://a", place, |message| message.value["params"]["uri"] == "memo://a");
    let told: Vec<_> = host.notifications("notifications/resources/updated", 0).iter().map(own).collect();
    let (of_a, of_b) = ((json!(a), json!("memo://a")), (json!(b), json!("memo://b")));
    assert_eq!(told, [of_b, of_a.clone(), of_a]);
}

#[test]
fn a_tool_asks_the_model_in_the_answer_to_its_call() {
    let host = start("run", "asks.py");
    let call = json!({"name": "ask", "arguments": {"text": "hi, é"}});
    let able = json!({"sampling": {}});
    let first = host.ask("tools/call", &with(&able, call.clone()));
    assert_eq!(first["resultType"], "input_required", "{first}");
    let question = &first["inputRequests"]["sampling-1"];
    assert_eq!(question["method"], "sampling/createMessage");
    assert_eq!(question["params"]["messages"], json!([{"role": "user", "content": {"type": "text", "text": "hi, é"}}]));
    let mut again = call.clone();
    again["requestState"] = first["requestState"].clone();
    again["inputResponses"] = json!({
        "sampling-1": {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m-1"}
    });
    let result = host.ask("tools/call", &with(&able, again.clone()));
    assert_eq!(result["resultType"], "complete", "{result}");
    let told: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!((&told["content"], &told["model"]), (&json!("hello"), &json!("m-1")));
    // A state is valid for one answer.
    assert_eq!(host.refused("tools/call", &with(&able, again))["code"], -32602);
}

/// Two servers with one key, as behind a load balancer, and a third with another key.
#[test]
fn a_retry_at_another_server_says_that_its_call_waits_elsewhere() {
    let sandbox = Sandbox::new();
    let server = |key: u8| {
        let file = sandbox.path(&format!("key-{key}"));
        fs::write(&file, [key; 32]).expect("the sandbox can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is our file");
        let file = file.to_str().expect("a path in UTF-8").to_owned();
        Web::start("py/asks.py", &["--transport", "http", "--sealing-key-file", &file])
    };
    let (asks, another, stranger) = (server(1), server(1), server(2));
    let send = |web: &Web, params: &Value| {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "ask")];
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        web.send("POST", "/mcp", &headers, &body.to_string()).json()
    };
    let call = with(&json!({"sampling": {}}), json!({"name": "ask", "arguments": {"text": "hi"}}));
    let first = send(&asks, &call);
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let mut again = call;
    again["requestState"] = first["result"]["requestState"].clone();
    again["inputResponses"] = json!({
        "sampling-1": {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m-1"}
    });
    let refused = send(&stranger, &again);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let refused = send(&another, &again);
    let reason = &refused["error"]["data"]["protomcp/error"];
    assert_eq!((&reason["error_code"], &reason["retryable"]), (&json!("WRONG_PROCESS"), &json!(false)), "{refused}");
    let answer = send(&asks, &again);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    // The call has run, and the same refusal says that it may have.
    let refused = send(&another, &again);
    let message = refused["error"]["message"].as_str().expect("a text");
    assert!(message.contains("has run there") && message.ends_with("if the call may run twice"), "{refused}");
}

#[test]
fn a_key_that_other_users_can_read_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/asks.py");
    let file = sandbox.path("open");
    fs::write(&file, [1; 32]).expect("the sandbox can be written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is our file");
    let flags = ["run", "asks.py", "--transport", "http", "--sealing-key-file", "open"];
    let output = sandbox.pmcp(&flags).command().output().expect("pmcp starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && log.contains("other users can read or change open"), "{log}");
}
