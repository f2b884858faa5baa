//! Calls beyond the limits are refused with one error, and requests that need no tool pass while calls wait or are refused.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc;

use protomcp_conformance::{Host, Sandbox, Web, patience};
use serde_json::{Value, json};

/// One call runs at a time, until the gate is open.
const FILE: &str = r#"import os, time
from protomcp import tool
from protomcp.runner import run

@tool("Returns once the gate is open.")
def hold(n: int = 0) -> str:
    while not os.path.exists("gate"):
        time.sleep(0.005)
    return f"held {n}"

@tool("Returns as well, once the gate is open.")
def other() -> str:
    return hold()

run()
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", FILE);
    sandbox
}

fn start(sandbox: &Sandbox, flags: &[&str]) -> Host {
    let host = sandbox.pmcp(&[&["run", "tools.py"], flags].concat()).start();
    host.initialize();
    host.stderr_with("serving");
    host
}

/// Opens the gate when it is dropped.
struct Gate<'a>(&'a Sandbox);

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        self.0.write("gate", "");
    }
}

/// All that a client of the command line prints. It waits no longer than the tests do.
fn client(sandbox: &Sandbox, words: &[&str]) -> String {
    let timeout = format!("{}s", patience().as_secs());
    let words = [words, &["--timeout", &timeout]].concat();
    let output = sandbox.pmcp(&words).command().output().expect("it runs");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The result of a refused call names this limit.
fn is_refused(result: &Value, limit: &str) {
    let error = &result["_meta"]["protomcp/error"];
    assert_eq!((&result["isError"], &error["error_code"]), (&json!(true), &json!("OVERLOADED")), "{result}");
    assert_eq!(error["retryable"], true, "{result}");
    assert!(error["retry_after_ms"].as_u64().is_some_and(|hint| (100..=30_000).contains(&hint)), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("was refused") && text.ends_with(&format!("or raise {limit}")), "{result}");
}

#[test]
fn lists_pings_and_cancellations_pass_a_full_queue() {
    let sandbox = sandbox();
    let host = start(&sandbox, &[]);
    let calls: Vec<u64> = (0..1024).map(|n| host.start_call("hold", &json!({"n": n}))).collect();
    let refused = host.refused("tools/call", &json!({"name": "hold", "arguments": {}}));
    assert_eq!(refused["data"]["protomcp/error"]["error_code"], "OVERLOADED", "{refused}");
    assert_eq!(refused["data"]["protomcp/error"]["retry_after_ms"], 1000, "{refused}");
    assert_eq!(host.names().len(), 2);
    assert_eq!(host.ask("ping", &json!({})), json!({}));
    for cancelled in [&calls[0], &calls[700]] {
        host.tell("notifications/cancelled", &json!({"requestId": cancelled}));
    }
    assert_eq!(host.names().len(), 2);
    assert!(calls.iter().all(|id| host.answered(*id).is_none()), "no call has ended");
    sandbox.write("gate", "");
    for (n, id) in calls.iter().enumerate() {
        if n != 0 && n != 700 {
            assert_eq!(host.answer(*id).value["result"]["content"][0]["text"], format!("held {n}"));
        }
    }
    assert_eq!(host.ask("ping", &json!({})), json!({}));
    assert!(host.answered(calls[0]).is_none() && host.answered(calls[700]).is_none());
}

#[test]
fn each_limit_is_set_by_a_flag_or_in_the_file_of_settings() {
    for (flag, in_file) in [("max-calls", false), ("max-calls-per-user", true), ("max-calls-per-tool", false)] {
        let sandbox = sandbox();
        let flags = [&*format!("--{flag}"), "2"];
        if in_file {
            sandbox.write("pmcp.toml", format!("{flag} = 2\n"));
        }
        let host = start(&sandbox, if in_file { &[] } else { &flags });
        let held = [0, 1].map(|n| host.start_call("hold", &json!({"n": n})));
        is_refused(&host.call("hold", &json!({})), flags[0]);
        assert_eq!(host.names().len(), 2, "lists pass");
        let other = match flag {
            "max-calls-per-tool" => Some(host.start_call("other", &json!({}))),
            _ => {
                is_refused(&host.call("other", &json!({})), flags[0]);
                None
            }
        };
        sandbox.write("gate", "");
        for id in held.into_iter().chain(other) {
            assert_ne!(host.answer(id).value["result"]["isError"], true);
        }
        assert_eq!(host.text("hold", &json!({"n": 3})), "held 3");
    }
}

#[test]
fn the_clients_of_every_protocol_share_the_limits() {
    let sandbox = sandbox();
    let flags = ["run", "tools.py", "--transport", "tcp", "--port", "0", "--max-calls-per-user", "2"];
    let host = sandbox.pmcp(&flags).start();
    let log = host.stderr_with("over TCP");
    let port = log.lines().find_map(|line| line.split_once("listening on proto://")?.1.rsplit(':').next());
    let digits: String = port.expect("it says where").chars().take_while(char::is_ascii_digit).collect();
    let mut lines = TcpStream::connect(("127.0.0.1", digits.parse().expect("a port"))).expect("it listens");
    lines.set_read_timeout(Some(patience())).expect("a time to wait");
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}});
    let mut send = |message: Value| writeln!(lines, "{message}").expect("it reads");
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for id in 1..=3 {
        let params = json!({"name": "hold", "arguments": {"n": id}});
        send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    let mut answers = BufReader::new(lines)
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("an answer")).expect("JSON"));
    let mut answer = |id: u64| answers.find(|answer| answer["id"] == id).expect("an answer")["result"].take();
    is_refused(&answer(3), "--max-calls-per-user");
    // The client of proto-mcp has the same address.
    let url = format!("proto://127.0.0.1:{digits}");
    let proto = |verb: &str, words: &[&str]| client(&sandbox, &[&[verb, &url], words].concat());
    let refused = proto("call", &["hold"]);
    assert!(refused.contains("was refused: you have 2 calls already"), "{refused}");
    assert!(proto("list", &[]).contains("hold"));
    sandbox.write("gate", "");
    assert_eq!(answer(1)["content"][0]["text"], "held 1");
    assert_eq!(answer(2)["content"][0]["text"], "held 2");
    let again = proto("call", &["hold", "n=4"]);
    assert!(again.contains("held 4"), "{again}");
}

#[test]
fn a_session_over_http_lists_while_all_its_calls_are_held() {
    let sandbox = sandbox();
    let flags = ["run", "tools.py", "--transport", "http", "--port", "0", "--metrics"];
    // An answer that is on its way to the client counts as pending, too.
    let limits = ["--max-pending", "28", "--max-calls", "16"];
    let web = Web::launch(sandbox.clone(), sandbox.pmcp(&[&flags[..], &limits].concat()));
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}});
    let begun = web.post(&json!({"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": params}));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let send = |body: &Value| web.send("POST", "/mcp", &[("mcp-session-id", &session)], &body.to_string());
    send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = |id: u64| {
        let params = json!({"name": "hold", "arguments": {"n": id}});
        send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).body
    };
    let list = |id: &str| send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).body;
    std::thread::scope(|scope| {
        // Also if a check fails, so that the calls do not wait for it.
        let gate = Gate(&sandbox);
        let (answer, answers) = mpsc::channel();
        for id in 0..20 {
            let answer = answer.clone();
            scope.spawn(move || drop(answer.send(call(id))));
        }
        let next = || answers.recv_timeout(patience()).expect("an answer");
        for _ in 0..4 {
            let answer = next();
            is_refused(&serde_json::from_str::<Value>(&answer).expect(&answer)["result"], "--max-calls");
        }
        for n in 0..4 {
            let body = list(&format!("list {n}"));
            assert!(body.contains("Returns once the gate is open."), "{body}");
        }
        // The clients of the other protocols have the same address.
        for url in [format!("grpc://127.0.0.1:{}", web.port()), format!("ws://127.0.0.1:{}/mcp", web.port())] {
            let refused = client(&sandbox, &["call", &url, "hold"]);
            assert!(refused.contains("was refused: the server has 16 calls already"), "{url}: {refused}");
            assert!(client(&sandbox, &["list", &url]).contains("hold"), "{url}");
        }
        let metrics = web.send("GET", "/metrics", &[], "").body;
        for (limit, refused) in [("server", 6), ("user", 0), ("tool", 0)] {
            assert!(
                metrics.contains(&format!("pmcp_calls_refused_total{{limit=\"{limit}\"}} {refused}\n")),
                "{metrics}"
            );
        }
        assert_eq!(answers.try_recv().ok(), None, "no call has ended");
        drop(gate);
        for _ in 0..16 {
            let answer = next();
            assert!(answer.contains("held "), "{answer}");
        }
    });
}
