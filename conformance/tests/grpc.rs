//! proto-mcp over gRPC, as the official Python packages of gRPC see it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_conformance::{Host, Sandbox, Web, certificates, eventually, peers};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::tls::assert_tls_1_3_alone;

const PROTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../proto");

/// A client for a server on this port, that trusts this authority.
fn client(sandbox: &Sandbox, port: u16, steps: &Value, authority: Option<&Path>) -> Command {
    let stubs = sandbox.path("stubs");
    fs::create_dir_all(&stubs).unwrap();
    let mut client = Command::new(peers().join("grpc/bin/python"));
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/grpc_client.py")).arg(PROTO).arg(stubs);
    client.arg(format!("localhost:{port}")).arg(steps.to_string()).args(authority);
    // A proxy of the environment is not for this machine.
    client.env("no_proxy", "localhost").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    client
}

/// The outcomes of the steps.
#[track_caller]
fn outcomes(mut client: Command) -> Vec<Value> {
    let output = client.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn steps(web: &Web, steps: &Value) -> Vec<Value> {
    outcomes(client(web.sandbox(), web.port(), steps, None))
}

/// A server of all protocols on HTTP.
fn serve(flags: &[&str], env: &[(&str, &str)]) -> Web {
    Web::start_with("py/basics.py", &[&["--transport", "http"], flags].concat(), env)
}

/// A server that serves gRPC alone.
struct Only {
    host: Host,
    sandbox: Sandbox,
    port: u16,
}

impl Only {
    fn start(sandbox: Sandbox, source: &[&str], flags: &[&str]) -> Self {
        let args = [&["run"], flags, &["--transport", "grpc", "--port", "0"], source].concat();
        let host = sandbox.pmcp(&args).start();
        let log = host.stderr_with("listening on grpc");
        let line = log.lines().find(|line| line.contains("listening on grpc")).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        host.stderr_with("serving");
        Self { host, sandbox, port }
    }

    #[track_caller]
    fn steps(&self, steps: &Value) -> Vec<Value> {
        outcomes(client(&self.sandbox, self.port, steps, None))
    }
}

#[test]
fn an_official_client_makes_all_five_calls() {
    let everything = peers().join("servers/node_modules/.bin/mcp-server-everything");
    let only = Only::start(Sandbox::new(), &["--", everything.to_str().unwrap()], &[]);
    let seen = only.steps(&json!([
        {"rpc": "Initialize", "request": {"protocol_version": "1.0.0", "capabilities": {"encodings": ["protobuf"]}}},
        {"rpc": "ListTools"},
        {"rpc": "CallTool", "request": {"name": "echo"}, "arguments": {"message": "Grüße 🦀"}},
        {"rpc": "ListResources"},
        {"rpc": "Initialize", "request": {"protocol_version": "2.0.0"}},
    ]));
    assert_eq!(seen[0]["response"]["protocol_version"], "1.0.0");
    assert_eq!(seen[0]["response"]["capabilities"], json!({"tools": {}, "resources": {}}));
    let tools = seen[1]["response"]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "echo").expect("the tool is listed");
    assert!(!echo["inline_schema"].as_array().unwrap().is_empty(), "{echo}");
    assert_eq!(seen[2]["response"]["success"]["content"], json!([{"text": "Echo: Grüße 🦀"}]));
    assert_eq!(seen[4]["code"], "FAILED_PRECONDITION");
    let resource = &seen[3]["response"]["resources"][0];
    let read = only.steps(&json!([{"rpc": "ReadResource", "request": {"uri": resource["uri"]}}]));
    assert_eq!(read[0]["response"]["contents"][0]["uri"], resource["uri"]);
    only.host.signal(Signal::TERM);
    assert!(only.host.exit().success());
}

#[test]
fn failures_are_statuses_or_errors_of_the_call() {
    let web = serve(&[], &[]);
    let seen = steps(
        &web,
        &json!([
            {"rpc": "CallTool", "request": {"name": "nothing"}},
            {"rpc": "CallTool", "request": {"name": "fail_with_code"}, "arguments": {}},
            {"rpc": "CallTool", "request": {"name": "sleep_ms", "metadata": {"timeout_ms": "100"}},
                "arguments": {"ms": 2000}},
            {"rpc": "ListTools", "request": {"cursor": "forged"}},
            {"rpc": "ReadResource", "request": {"uri": "file:///nothing"}},
        ]),
    );
    let error = &seen[0]["response"]["error"];
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32602), &json!("tool_not_found")));
    assert_eq!(seen[1]["response"]["success"]["is_error"], true);
    assert_eq!(seen[2]["response"]["error"]["code"], -33003);
    assert_eq!(seen[2]["response"]["error"]["data"]["timeout_ms"], "100");
    assert!(seen[2]["response"]["metadata"]["execution_time_ms"].is_string());
    assert_eq!(seen[3]["code"], "INVALID_ARGUMENT");
    let details = STANDARD.decode(seen[3]["grpc-status-details-bin"].as_str().unwrap()).unwrap();
    let details = String::from_utf8_lossy(&details).into_owned();
    assert!(details.contains("buf.mcp.v1.ErrorResponse") && details.contains("invalid_cursor"), "{details}");
    assert_eq!(seen[4]["code"], "NOT_FOUND");
}

/// A deadline that passes, and a client that gives up, cancel the tool.
#[test]
fn the_end_of_a_call_cancels_its_tool() {
    let web = serve(&[], &[]);
    let call = |note: &Path, end: (&str, Value)| {
        let mut step = json!({"rpc": "CallTool", "request": {"name": "until_cancelled"}, "arguments": {"note": note}});
        step[end.0] = end.1;
        steps(&web, &json!([step]))[0]["code"].take()
    };
    let ended = |note: &Path| {
        eventually("the tool ends", || (fs::read_to_string(note).ok()? == "finally ran").then_some(()));
    };
    // A deadline may pass before the tool begins, on a busy machine.
    let reached = [2, 20, 200].into_iter().find_map(|seconds| {
        let note = web.sandbox().path(&format!("note{seconds}"));
        assert_eq!(call(&note, ("timeout", json!(seconds))), "DEADLINE_EXCEEDED");
        note.exists().then_some(note)
    });
    ended(&reached.expect("the tool begins"));
    // The client gives up when the tool has begun.
    let note = web.sandbox().path("note");
    assert_eq!(call(&note, ("cancel", json!(note))), "CANCELLED");
    ended(&note);
}

/// A call with its events.
fn streamed(request: Value, arguments: Value) -> Value {
    let mut step = json!({"stream": "CallToolStream"});
    (step["request"], step["arguments"]) = (request, arguments);
    step
}

/// The events of a call, with the response as the last one, and the first notice of a client that listens.
#[test]
fn an_official_client_has_streams() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("carriers.py", include_str!("../hosts/carriers.py"));
    let note = sandbox.path("note");
    let only = Only::start(sandbox, &[file.to_str().unwrap()], &[]);
    let wants = json!({"name": "steps", "wants_progress": true, "log_level": "LOG_LEVEL_INFO"});
    let mut cancelled = streamed(json!({"name": "until_cancelled"}), json!({"note": note}));
    cancelled["cancel"] = json!(note);
    let seen = only.steps(&json!([
        streamed(wants, json!({"count": 2})),
        streamed(json!({"name": "steps"}), json!({"count": 2})),
        streamed(json!({"name": "nothing"}), json!({})),
        cancelled,
        {"listen": ["test://text"]},
        {"listen": ["test://text", "test://nothing"]},
    ]));
    let events = |at: usize| seen[at]["events"].as_array().unwrap();
    let kinds: Vec<_> = events(0).iter().flat_map(|event| event.as_object().unwrap().keys()).collect();
    assert_eq!((kinds.len(), kinds[4].as_str()), (5, "response"), "{kinds:?}");
    let of = |kind: &str| kinds.iter().filter(|one| one.as_str() == kind).count();
    assert_eq!((of("progress"), of("log")), (2, 2));
    assert_eq!(events(0)[4]["response"]["success"]["content"], json!([{"text": "took 2 steps"}]));
    assert_eq!(events(1).len(), 1);
    assert_eq!(events(2)[0]["response"]["error"]["code"], -32602);
    assert_eq!(seen[3]["code"], "CANCELLED");
    eventually("the tool ends", || (fs::read_to_string(&note).ok()? == "finally ran").then_some(()));
    assert_eq!(seen[4], json!({"listening": {}}));
    assert_eq!(seen[5], json!({"listening": {"missing": ["test://nothing"]}}));
}

#[test]
fn a_large_listing_passes_and_the_rest_is_paged() {
    let sandbox = Sandbox::new();
    let file = sandbox.write(
        "large.py",
        r#"from protomcp import tool
from protomcp.runner import run

def define(name, size):
    def handler() -> str:
        return name

    handler.__name__ = name
    tool("x" * size)(handler)

define("a_huge_one", 5 << 20)
for number in range(6):
    define(f"b{number}", 1 << 20)

run()
"#,
    );
    let only = Only::start(sandbox, &[file.to_str().unwrap()], &[]);
    let seen = only.steps(&json!([{"pages": "ListTools"}]));
    let pages = seen[0]["pages"].as_array().unwrap();
    assert!(pages[0]["bytes"].as_u64().unwrap() > 5 << 20, "{pages:?}");
    assert!(pages.len() >= 3, "{pages:?}");
    let names: Vec<_> = pages.iter().flat_map(|page| page["names"].as_array().unwrap().clone()).collect();
    assert_eq!(names, ["a_huge_one", "b0", "b1", "b2", "b3", "b4", "b5"]);
}

#[test]
fn health_is_reported_and_reflection_only_if_wanted() {
    let web = serve(&[], &[]);
    let questions = json!([
        {"health": "Check"},
        {"health": "Check", "service": "buf.mcp.v1.MCPService"},
        {"health": "Check", "service": "other"},
        {"health": "List"},
        {"health": "Watch"},
        {"reflection": "services"},
    ]);
    let seen = steps(&web, &questions);
    let serving = json!({"status": "SERVING"});
    assert_eq!((&seen[0], &seen[1], &seen[2]["code"]), (&serving, &serving, &json!("NOT_FOUND")));
    assert_eq!(seen[3]["statuses"]["buf.mcp.v1.MCPService"], serving);
    assert_eq!((&seen[4], &seen[5]["code"]), (&serving, &json!("UNIMPLEMENTED")));
    let web = serve(&["--grpc-reflection"], &[]);
    let seen = steps(&web, &json!([{"reflection": "services"}, {"reflection": "buf.mcp.v1.MCPService"}]));
    let services = ["MCPService", "MCPPrompts", "MCPStreams"].map(|name| format!("buf.mcp.v1.{name}"));
    assert_eq!(seen[0]["services"], json!(services));
    assert_eq!(seen[1]["methods"], json!(["Initialize", "ListTools", "CallTool", "ListResources", "ReadResource"]));
    assert_eq!(seen[1]["input"], "buf.mcp.v1.CallToolRequest");
}

#[test]
fn a_token_is_a_header_and_health_may_be_open() {
    let call = json!({"rpc": "CallTool", "request": {"name": "add"}, "arguments": {"a": 2, "b": 40}});
    let with = |token: &str| {
        let mut call = call.clone();
        call["metadata"] = json!({"authorization": format!("Bearer {token}")});
        call
    };
    for (flags, health) in [(&[][..], "UNAUTHENTICATED"), (&["--health"], "SERVING")] {
        let flags = [&["--auth", "token:SECRET"], flags].concat();
        let web = serve(&flags, &[("SECRET", "t0k")]);
        let seen = steps(&web, &json!([call, with("wrong"), with("t0k"), {"health": "Check"}, {"health": "Watch"}]));
        for refused in [&seen[0], &seen[1]] {
            assert_eq!(refused["code"], "UNAUTHENTICATED");
            assert!(refused["www-authenticate"].as_str().unwrap().starts_with("Bearer"), "{refused}");
        }
        assert_eq!(seen[2]["response"]["success"]["content"], json!([{"text": "42"}]));
        assert!(seen[3]["code"] == health || seen[3]["status"] == health, "{}", seen[3]);
        assert_eq!(seen[4]["code"], "UNAUTHENTICATED");
        assert!(!web.process().stderr().contains("t0k"));
    }
}

/// One port of one process: Streamable HTTP and gRPC.
#[test]
fn streamable_http_and_grpc_share_a_port() {
    let mut web = serve(&[], &[]);
    web.initialize();
    let json = web.call("add", &json!({"a": 2, "b": 40})).json();
    let seen = steps(&web, &json!([{"rpc": "CallTool", "request": {"name": "add"}, "arguments": {"a": 2, "b": 40}}]));
    assert_eq!(json["result"]["content"][0]["text"], seen[0]["response"]["success"]["content"][0]["text"]);
    // The client of this project is one of either.
    for url in [format!("http://localhost:{}/mcp", web.port()), format!("grpc://localhost:{}", web.port())] {
        let call = web.sandbox().pmcp(&["call", &url, "add", "a=2", "b=40"]).command().output().unwrap();
        assert_eq!(String::from_utf8_lossy(&call.stdout), "42\n", "{url}: {}", String::from_utf8_lossy(&call.stderr));
    }
    // Where gRPC is served alone, nothing else is.
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    let only = Only::start(sandbox, &[file.to_str().unwrap()], &[]);
    let web = web.at_port(only.port);
    assert_eq!(web.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 404);
    let seen = only.steps(&json!([{"rpc": "CallTool", "request": {"name": "echo"}, "arguments": {"text": "x"}}]));
    assert_eq!(seen[0]["response"]["success"]["content"], json!([{"text": "x"}]));
}

#[test]
fn grpc_alone_is_encrypted_with_tls_1_3() {
    let sandbox = Sandbox::new();
    certificates::write(&sandbox);
    let authority = sandbox.path("authority.pem");
    let file = sandbox.copy("py/basics.py");
    let only = Only::start(sandbox, &[file.to_str().unwrap()], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let call = json!([{"rpc": "CallTool", "request": {"name": "add"}, "arguments": {"a": 2, "b": 40}}]);
    let seen = outcomes(client(&only.sandbox, only.port, &call, Some(&authority)));
    assert_eq!(seen[0]["response"]["success"]["content"], json!([{"text": "42"}]));
    assert_tls_1_3_alone(only.port, &authority);
}
