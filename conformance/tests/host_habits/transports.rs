//! The same habits on every other front: sessions over HTTP, requests without a session, the older HTTP+SSE, TCP, and
//! proto-mcp over WebSocket and gRPC. Frames with headers are a habit on streams, and the end of the
//! input on stdio alone.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use protomcp_conformance::{Host, Listening, Sandbox, Web};
use serde_json::{Value, json};

/// A way to send a request and to wait for its answer.
type Ask<'a> = dyn FnMut(&Value) -> Value + 'a;

fn request(ask: &mut Ask<'_>, id: u64, method: &str, params: &Value) -> Value {
    ask(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// The requests of a host after its session has begun.
fn habits(ask: &mut Ask<'_>) {
    let sent = json!({"ids": "[1, 2]", "filter": "{\"a\": \"b\"}", "count": "890", "text": "[1, 2]"});
    let shown = request(ask, 10, "tools/call", &json!({"name": "show", "arguments": sent}));
    let text = shown["result"]["content"][0]["text"].as_str().unwrap_or_default();
    let expected = json!({"ids": [1, 2], "filter": {"a": "b"}, "count": 890, "text": "[1, 2]"});
    assert_eq!(serde_json::from_str::<Value>(text).ok(), Some(expected), "{shown}");
    for (id, params) in [(11, json!({"name": "hello"})), (12, json!({"name": "hello", "arguments": null}))] {
        // Progress has no token, so that the answer is all that comes.
        let answer = request(ask, id, "tools/call", &params);
        assert_eq!(answer["result"]["content"][0]["text"], "hello", "{params}: {answer}");
    }
    for (id, method, member) in [
        (13, "resources/list", "resources"),
        (14, "resources/templates/list", "resourceTemplates"),
        (15, "prompts/list", "prompts"),
    ] {
        assert_eq!(request(ask, id, method, &json!({}))["result"][member], json!([]), "{method}");
    }
}

/// An old revision, from a host whose capabilities are any JSON.
fn opening(version: &str) -> Value {
    let capabilities = json!({"tools": true, "logging": false, "roots": true, "sampling": [], "x": 1});
    json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "x", "version": "1"}})
}

const REVISIONS: [&str; 3] = ["2024-11-05", "2025-03-26", "2025-06-18"];

#[test]
fn habits_are_understood_over_http_and_sse() {
    for transport in ["http", "sse"] {
        let mut web = Web::start("py/habits.py", &["--transport", transport]);
        for version in REVISIONS {
            let answer = request(&mut |message| web.post(message).json(), 1, "initialize", &opening(version));
            assert_eq!(answer["result"]["protocolVersion"], version, "{transport}: {answer}");
        }
        web.initialize();
        habits(&mut |message| web.post(message).json());
    }
}

#[test]
fn habits_are_understood_over_tcp() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/habits.py");
    let host = sandbox.pmcp(&["run", "habits.py", "--transport", "tcp", "--port", "0"]).start();
    for version in REVISIONS {
        let stream = TcpStream::connect(("localhost", port(&host))).expect("it listens");
        let mut lines = BufReader::new(stream.try_clone().expect("a socket can be shared"));
        let mut write = stream;
        let mut ask = |message: &Value| {
            write.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
            while !message["id"].is_null() {
                let mut line = String::new();
                assert!(lines.read_line(&mut line).expect("the server answers") > 0, "the connection has ended");
                let answer: Value = serde_json::from_str(&line).expect("a line is a message");
                if answer["id"] == message["id"] {
                    return answer;
                }
            }
            Value::Null
        };
        let answer = request(&mut ask, 1, "initialize", &opening(version));
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        habits(&mut ask);
        let ping = json!({"jsonrpc": "2.0", "id": 99, "method": "ping"}).to_string();
        write.write_all(format!("Content-Length: {}\r\n\r\n{ping}", ping.len()).as_bytes()).expect("the server reads");
        let mut line = String::new();
        lines.read_line(&mut line).expect("the server answers");
        assert!(line.contains("\"id\":99"), "{line}");
    }
}

/// A request of MCP 2026-07-28: it describes itself, and its headers repeat the method and the name.
fn without_session(web: &Web, message: &Value) -> Value {
    let mut message = message.clone();
    let capabilities = json!({"tools": true, "logging": false, "roots": true, "sampling": [], "x": 1});
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    });
    let (method, name) = (message["method"].as_str().unwrap_or_default(), message["params"]["name"].as_str());
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(name.map(|name| ("mcp-name", name)));
    web.send("POST", "/mcp", &headers, &message.to_string()).json()
}

#[test]
fn habits_are_understood_without_a_session() {
    let web = Web::start("py/habits.py", &["--transport", "http"]);
    habits(&mut |message| without_session(&web, message));
}

/// The transport of MCP 2024-11-05: all messages of the server are events of one stream.
struct Sse<'a> {
    web: &'a Web,
    events: Listening,
    /// The path for messages of the client.
    path: String,
}

impl<'a> Sse<'a> {
    fn open(web: &'a Web) -> Self {
        let mut events = web.stream("GET", "/sse", &[("accept", "text/event-stream")], "");
        let line = events.line_with("sessionId=").expect("the first event has the address");
        let address = line.trim().strip_prefix("data: ").expect("it is the data of the event");
        Self { web, events, path: format!("/sse{address}") }
    }

    fn send(&self, message: &Value) {
        let reply = self.web.send("POST", &self.path, &[], &message.to_string());
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    /// The next message with this text in it.
    fn next(&mut self, part: &str) -> Value {
        let line = self.events.line_with(part).expect("the stream goes on");
        serde_json::from_str(line.trim().strip_prefix("data: ").expect("a message is data")).expect("it is JSON")
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next(&format!("\"id\":{}", message["id"]))
    }
}

#[test]
fn habits_are_understood_over_the_older_sse() {
    let web = Web::start("py/habits.py", &["--transport", "sse"]);
    for version in REVISIONS {
        let mut client = Sse::open(&web);
        let answer = request(&mut |message| client.ask(message), 1, "initialize", &opening(version));
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        habits(&mut |message| client.ask(message));
    }
}

/// The question of the tool `ask`, which the host refuses although it has declared that it can be asked.
fn refusal(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}})
}

#[test]
fn a_failing_request_ends_no_session_over_sse() {
    let web = Web::start("py/habits.py", &["--transport", "sse"]);
    let mut client = Sse::open(&web);
    let able = json!({"protocolVersion": "2024-11-05", "capabilities": {"sampling": {}, "roots": {}},
        "clientInfo": {"name": "x", "version": "1"}});
    request(&mut |message| client.ask(message), 1, "initialize", &able);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask"}}));
    let question = client.next("sampling/createMessage");
    client.send(&refusal(&question));
    assert!(client.next("\"id\":2")["result"].is_object(), "the call has its result");
    let hello = request(&mut |message| client.ask(message), 3, "tools/call", &json!({"name": "hello"}));
    assert_eq!(hello["result"]["content"][0]["text"], "hello");
}

#[test]
fn a_failing_request_ends_no_session_over_http() {
    let mut web = Web::start("py/habits.py", &["--transport", "http"]);
    let able = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {"sampling": {}, "roots": {}},
        "clientInfo": {"name": "x", "version": "1"}}});
    let session = web.post(&able).header("mcp-session-id").expect("a session begins").to_owned();
    web.carry("mcp-session-id", &session);
    web.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask"}});
    let mut events = web.stream("POST", "/mcp", &[], &call.to_string());
    let message = |line: String| -> Value {
        serde_json::from_str(line.trim().strip_prefix("data: ").expect("a message is data")).expect("it is JSON")
    };
    let question = message(events.line_with("sampling/createMessage").expect("the tool asks"));
    assert_eq!(web.post(&refusal(&question)).status, 202);
    assert!(message(events.line_with("\"id\":2").expect("the call is answered"))["result"].is_object());
    assert_eq!(web.call("hello", &json!({})).json()["result"]["content"][0]["text"], "hello");
}

#[test]
fn habits_are_understood_in_proto_mcp() {
    let web = Web::start("py/habits.py", &["--transport", "http"]);
    for url in [format!("ws://localhost:{}/mcp", web.port()), format!("grpc://localhost:{}", web.port())] {
        let run = |words: &[&str]| {
            let output = web.sandbox().pmcp(words).command().output().expect("pmcp starts");
            assert!(output.status.success(), "{words:?}: {output:?}");
            String::from_utf8(output.stdout).expect("output is UTF-8")
        };
        assert_eq!(run(&["call", &url, "hello"]), "hello\n", "{url}");
        for kind in ["resources", "templates", "prompts"] {
            assert_eq!(run(&["list", &url, "--kind", kind, "--json"]).trim(), "[]", "{url}: {kind}");
        }
    }
}

/// The port in the log.
fn port(host: &Host) -> u16 {
    let log = host.stderr_with("over TCP");
    let line = log.lines().find(|line| line.contains("listening on proto")).expect("it says where it listens");
    let digits = line.rsplit(':').next().and_then(|rest| rest.split(' ').next()).expect("a port ends the URL");
    digits.parse().expect("a port is a number")
}
