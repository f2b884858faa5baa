//! The order of calls with SDKs that run one handler at a time.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use protomcp_conformance::{Host, Sandbox, Web, judged, patience, peers, session};
use serde_json::{Value, json};

fn failed(answer: &Value) -> bool {
    answer["result"]["isError"] == true
}

/// Item 47.
#[test]
fn a_late_python_handler_uses_no_time_of_the_next_call() {
    let (host, sandbox) = session("run", "py/versioned.py", &["--call-timeout", "1s"]);
    check_late_handler(&host, &sandbox);
}

/// The same for the SDK that takes many calls and runs plain handlers one at a time.
#[test]
fn a_late_plain_handler_uses_no_time_of_the_next_call() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/versioned.py");
    let launch = sandbox.pmcp(&["run", "versioned.py", "--call-timeout", "1s"]);
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("sdk").join("python/src");
    let host = launch.env("PROTOMCP_PYTHON", peers().join("sdk-python/bin/python")).env("PYTHONPATH", sdk).start();
    host.initialize();
    check_late_handler(&host, &sandbox);
}

fn check_late_handler(host: &Host, sandbox: &Sandbox) {
    const TIME: Duration = Duration::from_secs(1);
    // A handler that does not observe the cancellation of its call.
    let file = sandbox.path("end");
    let first = host.start_call("work", &json!({"id": 1, "ms": 0, "until": &file}));
    // It starts when the previous handler ends, which is later than its own time would have ended.
    let second = host.start_call("work", &json!({"id": 2, "ms": 0}));
    let answer = host.answer(first);
    let text = answer.value["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(text, r#"call tool "work" timed out after 1s"#);
    // No event shows that a time does not pass.
    std::thread::sleep(2 * TIME);
    // After ten seconds, on a busy machine, another process has taken it.
    let is_moved = host
        .answered(second)
        .is_none_or(|early| early.at - answer.at >= Duration::from_secs(9) && !failed(&early.value));
    assert!(is_moved, "its time passes while it waits");
    let begins = Instant::now();
    std::fs::write(file, "").expect("the sandbox can be written");
    let answer = host.answer(second);
    // On a busy machine it may take longer than its time, all of which it has.
    let has_its_time = answer.at.saturating_duration_since(begins) >= TIME;
    let is_late = answer.value["result"]["content"][0]["text"] == text;
    assert!(!failed(&answer.value) || (is_late && has_its_time), "{}", answer.value);
}

#[test]
fn a_handler_that_never_ends_gives_way_to_a_new_process() {
    let (host, _sandbox) = session("run", "py/basics.py", &["--call-timeout", "1s"]);
    let pid = || host.text("whereabouts", &json!({})).split(' ').next().expect("a process id").to_owned();
    let first = pid();
    let text = host.error_text("sleep_ms", &json!({"ms": 86_400_000}));
    assert_eq!(text, r#"call tool "sleep_ms" timed out after 1s"#);
    assert_ne!(first, pid(), "the call that waited has gone to another process");
    host.stderr_with(r#"calls wait since one of tool "sleep_ms" was given up"#);
    let stopped = || (!Path::new("/proc").join(&first).exists()).then_some(());
    protomcp_conformance::eventually("the end of the stuck process", stopped);
}

/// Handlers that should overlap, one of which blocks the event loop of all.
#[test]
fn a_handler_that_blocks_its_event_loop_gives_way() {
    const PYTHON: &str = r#"
import os, time
from protomcp import tool

@tool()
def block(note: str) -> str:
    open(note, "w").close()
    time.sleep(86_400)

@tool()
async def whereabouts() -> str:
    return str(os.getpid())
"#;
    const JAVASCRIPT: &str = r#"
import { writeFileSync } from "node:fs";
import { tool } from "protomcp";

const input = { type: "object", properties: { note: { type: "string" } } };
tool({ name: "block", input, handler: ({ note }) => { writeFileSync(note, ""); for (;;); } });
tool({ name: "whereabouts", handler: async () => `${process.pid}` });
"#;
    let sandbox = Sandbox::new();
    sandbox.with_node();
    for (file, text) in [("tools.py", PYTHON), ("tools.mjs", JAVASCRIPT)] {
        sandbox.write(file, text);
        let host = sandbox.pmcp(&["run", file, "--sdk", "bundled"]).start();
        host.initialize();
        let first = host.text("whereabouts", &json!({}));
        let note = sandbox.path(&format!("{file}.note"));
        let id = host.start_call("block", &json!({"note": note}));
        protomcp_conformance::eventually("the handler to run", || note.exists().then_some(()));
        host.tell("notifications/cancelled", &json!({"requestId": id}));
        assert_ne!(first, host.text("whereabouts", &json!({})), "{file}");
        host.stderr_with(r#"calls wait since one of tool "block" was given up"#);
    }
}

#[test]
fn a_python_handler_that_obeys_cancellation_delays_no_call() {
    // The first call waits for ever; the next one starts long before a silent process would be sent it.
    let (host, sandbox) = session("run", "py/basics.py", &["--queue-timeout", "1m"]);
    let note = sandbox.path("note");
    let id = host.start_call("until_cancelled", &json!({"note": note}));
    let read = || std::fs::read_to_string(&note).unwrap_or_default();
    protomcp_conformance::eventually("the handler to run", || (read() == "running").then_some(()));
    host.tell("notifications/cancelled", &json!({"requestId": id}));
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
}

/// A call without a session, of a client with these capabilities.
fn call(capabilities: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
    });
    let params = json!({"name": "ask", "arguments": {"text": "hi"}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

const HEADERS: [(&str, &str); 3] =
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "ask")];

/// Sends a call from another loopback address, which is another owner, and returns the whole response.
fn call_from_elsewhere(port: u16, body: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connect = async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 2], 0).into()).expect("all of 127.0.0.0/8 is this machine");
        socket.connect(([127, 0, 0, 1], port).into()).await.expect("pmcp listens").into_std()
    };
    let mut stream = runtime.block_on(connect).expect("a socket of the system");
    stream.set_nonblocking(false).expect("a socket blocks");
    stream.set_read_timeout(Some(patience())).expect("a socket has timeouts");
    let headers: String = HEADERS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\naccept: application/json, \
         text/event-stream\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).expect("pmcp reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn an_unanswered_request_delays_other_users_for_seconds_only() {
    let web = Web::start("py/asks.py", &["--transport", "http"]);
    let begun = Instant::now();
    let parked = web.send("POST", "/mcp", &HEADERS, &call(&json!({"sampling": {}}))).json();
    assert_eq!(parked["result"]["resultType"], "input_required", "{parked}");
    // The handler of this one fails immediately when it starts.
    let answer = call_from_elsewhere(web.port(), &call(&json!({})));
    assert!(answer.contains("sampling"), "{answer}");
    let waited = begun.elapsed();
    assert!(waited > Duration::from_secs(4) && waited < judged(Duration::from_secs(15)), "{waited:?}");
}
