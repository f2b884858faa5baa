//! An answer of a server that is longer than a line may be.

use protomcp_conformance::Sandbox;

/// Writes the id behind the result, as many servers do.
const SERVER: &str = r#"import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    identity = json.dumps(message["id"])
    if message["method"] == "initialize":
        info = {"name": "long", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "long", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "x" * (64 << 20)}]}
    else:
        error = {"code": -32601, "message": "unknown"}
        print('{"jsonrpc":"2.0","error":%s,"id":%s}' % (json.dumps(error), identity), flush=True)
        continue
    print('{"result":%s,"jsonrpc":"2.0","id":%s}' % (json.dumps(result), identity), flush=True)
"#;

#[test]
fn an_answer_that_is_too_long_fails_its_call() {
    let sandbox = Sandbox::new();
    sandbox.write("server.py", SERVER);
    let output = sandbox.pmcp(&["call", "long", "--", "python3", "server.py"]).command().output();
    let output = output.expect("pmcp starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("a line is longer than 67108864 bytes"), "{stderr}");
    let host = sandbox.pmcp(&["run", "--", "python3", "server.py"]).start();
    host.initialize();
    let text = host.error_text("long", &serde_json::json!({}));
    assert!(text.contains("a line is longer than 67108864 bytes"), "{text}");
}
