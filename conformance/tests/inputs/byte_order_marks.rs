//! A byte order mark at the beginning of a stream, a body or a file is ignored (RFC 8259, section 8.1).

use std::io::Write;
use std::process::{Output, Stdio};

use protomcp_conformance::{Sandbox, Web};
use serde_json::{Value, json};

const MARK: &str = "\u{feff}";

const SERVER: &str = r#"import json, sys
sys.stdout.write("\ufeff")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "marked", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]}}
    else:
        answer = {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

const TOOLS: &str = r#"from protomcp import tool
from protomcp.runner import run

@tool("Says it again.")
def echo(text: str) -> str:
    return text

run()
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    sandbox.write("server.py", SERVER);
    sandbox
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.pmcp(words).command().output().expect("pmcp starts")
}

#[track_caller]
fn succeeds(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = run(sandbox, words);
    let (printed, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words:?}: {printed}{log}");
    printed.into_owned()
}

fn initialize() -> Value {
    let client = json!({"name": "marked", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

#[test]
fn a_host_may_begin_with_a_mark() {
    for pieces in [vec!["\u{feff}".as_bytes()], vec![b"\xef", b"\xbb", b"\xbf"]] {
        let host = sandbox().pmcp(&["run", "tools.py"]).start();
        for piece in pieces {
            host.bytes(piece);
        }
        host.line(&initialize().to_string());
        assert_eq!(host.answer(1).value["result"]["protocolVersion"], "2025-11-25");
    }
}

#[test]
fn a_mark_is_refused_where_a_text_does_not_begin() {
    let host = sandbox().pmcp(&["run", "tools.py"]).start();
    host.initialize();
    let place = host.now();
    host.line(&format!("{MARK}{}", json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})));
    host.wait_for("the refusal", place, |message| message.value["error"]["code"] == -32700);
}

#[test]
fn the_body_of_a_request_may_begin_with_a_mark() {
    let sandbox = sandbox();
    let launch = sandbox.pmcp(&["run", "tools.py", "--transport", "http", "--port", "0"]);
    let web = Web::launch(sandbox, launch);
    let begun = web.send("POST", "/mcp", &[], &format!("{MARK}{}", initialize()));
    assert_eq!(begun.json()["result"]["protocolVersion"], "2025-11-25", "{begun:?}");
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let headers = [("mcp-session-id", session.as_str())];
    assert_eq!(web.send("POST", "/mcp", &headers, &format!("{MARK}{told}")).status, 202);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "marked", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let listed = web.send("POST", "/mcp", &headers, &format!("{MARK}{list}"));
    assert!(listed.json()["result"]["tools"].is_array(), "{listed:?}");
}

#[test]
fn a_server_behind_the_gateway_may_begin_with_a_mark() {
    let sandbox = sandbox();
    let printed = succeeds(&sandbox, &["list", "--", "python3", "server.py"]);
    assert!(printed.contains("odd"), "{printed}");
    let host = sandbox.pmcp(&["run", "--", "python3", "server.py"]).start();
    host.initialize();
    assert_eq!(host.names(), ["odd"]);
    assert!(!host.stderr().contains("prints text"), "{}", host.stderr());
}

#[test]
fn files_and_inputs_may_begin_with_a_mark() {
    let sandbox = sandbox();
    let servers = json!({"mcpServers": {"own": {"command": "pmcp-of-no-use", "disabled": true}, "it": {
        "command": "python3", "args": ["server.py"]
    }}});
    sandbox.write("servers.json", format!("{MARK}{servers}"));
    let host = sandbox.pmcp(&["run", "--config", "servers.json"]).start();
    host.initialize();
    assert_eq!(host.names(), ["odd"]);

    let arguments = format!("{MARK}{}", json!({"text": "again"}));
    assert_eq!(succeeds(&sandbox, &["call", "tools.py", "echo", &arguments]), "again\n");
    let mut call = sandbox.pmcp(&["call", "tools.py", "echo", "-"]).command();
    let mut call = call.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("pmcp starts");
    call.stdin.take().expect("it is piped").write_all(arguments.as_bytes()).expect("pmcp reads");
    assert_eq!(call.wait_with_output().expect("it ends").stdout, b"again\n");

    let tool = json!({"name": "odd", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}});
    sandbox.write("tools.json", format!("{MARK}{tool}"));
    succeeds(&sandbox, &["schema", "to-proto", "tools.json", "--out", "."]);
    let lock = std::fs::read_to_string(sandbox.path("fields.lock.json")).expect("it is written");
    sandbox.write("fields.lock.json", format!("{MARK}{lock}"));
    succeeds(&sandbox, &["schema", "to-proto", "tools.json", "--out", "."]);

    sandbox.write("pmcp.toml", format!("{MARK}call-timeout = \"20s\"\n"));
    assert!(succeeds(&sandbox, &["list", "tools.py"]).contains("echo"));
}
