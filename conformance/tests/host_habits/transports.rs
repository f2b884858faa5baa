//! The same habits over HTTP, over the port that also has the older HTTP+SSE, and over TCP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use protomcp_conformance::{Host, Sandbox, Web};
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
    }
}

/// The port in the log.
fn port(host: &Host) -> u16 {
    let log = host.stderr_with("over TCP");
    let line = log.lines().find(|line| line.contains("listening on proto")).expect("it says where it listens");
    let digits = line.rsplit(':').next().and_then(|rest| rest.split(' ').next()).expect("a port ends the URL");
    digits.parse().expect("a port is a number")
}
