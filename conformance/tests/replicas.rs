//! Several `pmcp` that share their sessions in a store: a real `redis-server`, in front of real processes.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use protomcp_conformance::{Issuer, Launch, Redis, Reply, Sandbox, Web, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A server that shares its sessions there.
fn replica(redis: &Redis) -> Web {
    redis.serve("py/basics.py", &["--metrics"])
}

/// A server that the other ones reach, too.
fn reachable(redis: &Redis, fixture: &str) -> Web {
    redis.serve(fixture, &["--metrics", "--replica-url", "http://127.0.0.1:0"])
}

/// A server with this Python file, which the other ones reach.
fn serve(redis: &Redis, file: &str, flags: &[&str]) -> Web {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", file);
    let launch = redis.replica(&sandbox, "tools.py").arg("--port").arg("0").arg("--sdk").arg("bundled");
    let launch = launch.arg("--replica-url").arg("http://127.0.0.1:0");
    let launch = flags.iter().fold(launch, Launch::arg);
    Web::launch(sandbox, launch)
}

/// Waits until two servers receive notices.
fn both_receive_notices(redis: &Redis) {
    eventually("both servers receive notices", || {
        let mut socket = UnixStream::connect(redis.sandbox().path("s")).ok()?;
        socket.write_all(b"PUBSUB NUMSUB pmcp:bus:0\r\n").ok()?;
        let mut answer = [0; 64];
        let length = socket.read(&mut answer).ok()?;
        answer[..length].ends_with(b":2\r\n").then_some(())
    });
}

/// Sends requests of this session from here on, or of none.
fn in_session(server: &mut Web, session: Option<&str>) {
    server.forget("mcp-session-id");
    if let Some(session) = session {
        server.carry("mcp-session-id", session);
    }
}

fn initialize(server: &Web) -> Reply {
    server.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}
    }}))
}

/// Opens a session; returns its id.
fn open(server: &Web) -> String {
    initialize(server).header("mcp-session-id").expect("a session is opened").to_owned()
}

/// A figure of the metrics of a server.
fn figure(server: &Web, name: &str) -> f64 {
    let page = server.send("GET", "/metrics", &[], "").body;
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {page}"))
}

fn text(reply: &Reply) -> Value {
    reply.json()["result"]["content"][0]["text"].clone()
}

fn echo(server: &Web, words: &str) -> Reply {
    server.call("echo", &json!({"text": words}))
}

#[test]
fn a_session_goes_on_when_its_server_ends_and_when_it_is_killed() {
    let redis = Redis::start();
    let a = redis.serve("py/basics.py", &["--metrics", "--replica-name", "pod-a.1"]);
    let (mut b, mut c) = (replica(&redis), replica(&redis));
    let session = open(&a);
    for server in [&mut b, &mut c] {
        in_session(server, Some(&session));
    }
    let elsewhere = echo(&b, "too early");
    assert_eq!((elsewhere.status, elsewhere.header("retry-after")), (503, Some("1")), "{elsewhere:?}");
    assert!(elsewhere.body.contains("the process pod-a.1-"), "{elsewhere:?}");

    a.process().signal(Signal::TERM);
    assert!(a.process().exit().success());
    assert_eq!(text(&echo(&b, "after the end")), "after the end");
    assert!(figure(&b, "pmcp_http_sessions_taken_over_total ") >= 1.0);

    b.process().signal(Signal::KILL);
    b.process().exit();
    // The lease of a server that was killed runs out after ten seconds.
    let answer =
        eventually("the session goes on", || Some(echo(&c, "after a kill")).filter(|reply| reply.status != 503));
    assert_eq!(text(&answer), "after a kill");

    // It ends everywhere with its client's request.
    assert_eq!(c.send("DELETE", "/mcp", &[], "").status, 204);
    let mut d = replica(&redis);
    in_session(&mut d, Some(&session));
    eventually("the session has ended", || (echo(&d, "after the session").status == 404).then_some(()));
}

#[test]
fn requests_are_handed_on_to_the_server_of_their_session() {
    let redis = Redis::start();
    let (mut a, mut b) = (reachable(&redis, "py/basics.py"), reachable(&redis, "py/basics.py"));
    let session = open(&a);
    in_session(&mut a, Some(&session));
    in_session(&mut b, Some(&session));
    // A client that has not said this gets no notifications.
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(b.post(&initialized).status, 202);
    let whereabouts = |server: &Web| text(&server.call("whereabouts", &json!({})));
    assert_eq!(whereabouts(&b), whereabouts(&a), "one tool process serves the session");

    let mut stream = b.listen(&[]);
    stream.line_with("data:").expect("the stream begins");
    b.call("reveal", &json!({}));
    stream.line_with("list_changed").expect("the events of the session come through the other server");

    assert!(figure(&b, "pmcp_http_handed_on_total{outcome=\"answered\"} ") >= 1.0);
    assert!(figure(&b, "pmcp_http_handed_on_total{outcome=\"lost\"} ").abs() < 0.5);
    let forged = b.send("POST", "/mcp", &[("protomcp-hop", "v1.e30.c2lnbmF0dXJl")], "{}");
    assert_eq!(forged.status, 401, "{forged:?}");

    assert_eq!(b.send("DELETE", "/mcp", &[], "").status, 204);
    assert_eq!(echo(&a, "after the session").status, 404);
}

#[test]
fn an_answer_is_handed_on_to_the_server_that_asks() {
    let redis = Redis::start();
    let (asks, other) = (reachable(&redis, "py/asks.py"), reachable(&redis, "py/asks.py"));
    let mut params = json!({"name": "ask", "arguments": {"text": "hi"}, "_meta": meta(&json!({"sampling": {}}))});
    let first = stateless(&asks, &params);
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({
        "sampling-1": {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m-1"}
    });
    let answer = stateless(&other, &params);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");

    // The call has run: neither server runs it again.
    for server in [&other, &asks] {
        assert_eq!(stateless(server, &params)["error"]["code"], -32602);
    }
}

/// A tool whose calls go on as tasks, until a file exists.
const WAITS: &str = r#"
import asyncio
import os

from protomcp import tool


@tool("Waits for a file.", task_support=True)
async def wait(path: str) -> str:
    while not os.path.exists(path):
        await asyncio.sleep(0.01)
    return "it is there"
"#;

#[test]
fn a_task_is_read_at_each_server_and_after_its_server_has_ended() {
    let redis = Redis::start();
    let (a, b) = (serve(&redis, WAITS, &[]), serve(&redis, WAITS, &[]));
    let file = redis.sandbox().path("there");
    let (ends, stays) = (begin(&a, &file), begin(&a, &redis.sandbox().path("never")));
    for task in [&ends, &stays] {
        assert_eq!(look(&b, task)["status"], "working");
    }
    fs::write(&file, "").expect("the folder is ours");
    eventually("the task has ended", || (look(&b, &ends)["status"] == "completed").then_some(()));

    a.process().signal(Signal::KILL);
    a.process().exit();
    assert_eq!(look(&b, &ends)["result"]["content"][0]["text"], "it is there");
    let failed =
        eventually("the lease has run out", || Some(look(&b, &stays)).filter(|task| task["status"] != "working"));
    assert_eq!(failed["status"], "failed", "{failed}");
    assert_eq!(failed["error"]["data"]["protomcp/error"]["error_code"], "REPLICA_GONE", "{failed}");
}

#[test]
fn a_task_ends_while_its_server_drains() {
    let redis = Redis::start();
    let (a, b) = (serve(&redis, WAITS, &["--drain-timeout", "5m"]), serve(&redis, WAITS, &[]));
    let file = redis.sandbox().path("there");
    let (task, cancelled) = (begin(&a, &file), begin(&a, &redis.sandbox().path("never")));
    a.process().signal(Signal::TERM);
    a.process().stderr_with("draining");
    assert_eq!(look(&b, &task)["status"], "working");
    about_task(&b, "tasks/cancel", &cancelled);
    // The server of the task hears of it in its time.
    eventually("the task is cancelled", || (look(&b, &cancelled)["status"] == "cancelled").then_some(()));
    fs::write(&file, "").expect("the folder is ours");
    assert!(a.process().exit().success(), "{}", a.process().stderr());
    assert_eq!(look(&b, &task)["result"]["content"][0]["text"], "it is there");
}

/// Calls the tool, and returns the id of the task.
fn begin(server: &Web, file: &Path) -> Value {
    let meta = meta(&json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let answer = stateless(server, &json!({"name": "wait", "arguments": {"path": file}, "_meta": meta}));
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    answer["result"]["taskId"].clone()
}

/// A task as its client sees it.
fn look(server: &Web, task: &Value) -> Value {
    about_task(server, "tasks/get", task)
}

/// The result of a request about a task.
fn about_task(server: &Web, method: &str, task: &Value) -> Value {
    let meta = meta(&json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let params = json!({"taskId": task, "_meta": meta});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let id = task.as_str().expect("a task has an id");
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", id)];
    let answer = server.send("POST", "/mcp", &headers, &request.to_string()).json();
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// A call without a session.
fn stateless(server: &Web, params: &Value) -> Value {
    let name = params["name"].as_str().expect("a tool is named");
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name)];
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    server.send("POST", "/mcp", &headers, &call.to_string()).json()
}

fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
    })
}

#[test]
fn a_token_that_one_server_finds_revoked_is_refused_by_others() {
    let (redis, mut issuer) = (Redis::start(), Issuer::start());
    let (url, introspect) = (issuer.url().to_owned(), format!("{}/introspect", issuer.url()));
    let secured = || {
        let sandbox = Sandbox::new();
        let file = sandbox.copy("py/basics.py");
        let launch = redis.replica(&sandbox, &file.to_string_lossy()).arg("--port").arg("0");
        let flags = ["--oauth-issuer", &url, "--oauth-audience", "api://tools", "--oauth-introspect", &introspect];
        let flags = [&flags[..], &["--oauth-client-id", "tools", "--oauth-client-secret-env", "TOOLS_SECRET"]].concat();
        let launch = flags.iter().fold(launch, Launch::arg).env("TOOLS_SECRET", "s3cret");
        let launch = launch.arg("--log-level").arg("debug");
        Web::launch(sandbox, launch)
    };
    let (mut a, mut b) = (secured(), secured());
    both_receive_notices(&redis);
    let token = issuer.token(&json!({"alg": "opaque", "aud": "api://tools"}));
    for server in [&mut a, &mut b] {
        server.carry("authorization", &format!("Bearer {token}"));
    }
    assert_eq!(initialize(&b).status, 200);
    issuer.revoke(&token);
    assert_eq!(initialize(&b).status, 200, "its answer is not old");
    assert_eq!(initialize(&a).status, 401);
    // By itself it asks again when its answer is a minute old.
    b.process().stderr_with("another server was refused a token");
    assert_eq!(initialize(&b).status, 401);
}

#[test]
fn without_the_store_requests_without_sessions_are_served() {
    let mut redis = Redis::start();
    let mut server = replica(&redis);
    let session = open(&server);
    redis.stop();

    let params = json!({"name": "echo", "arguments": {"text": "stateless"}, "_meta": meta(&json!({}))});
    assert_eq!(stateless(&server, &params)["result"]["content"][0]["text"], "stateless");
    let refused = initialize(&server);
    eventually("a request to the store has failed", || {
        (figure(&server, "pmcp_store_failures_total ") >= 1.0).then_some(())
    });
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");

    // An empty store does not know the session; a new one is opened.
    redis.start_again();
    eventually("the server has a lease", || (figure(&server, "pmcp_http_lease ") > 0.5).then_some(()));
    let opened =
        eventually("the store is used again", || Some(initialize(&server)).filter(|reply| reply.status == 200));
    assert_ne!(opened.header("mcp-session-id"), Some(session.as_str()));
    in_session(&mut server, opened.header("mcp-session-id"));
    assert_eq!(text(&echo(&server, "again")), "again");
}

#[test]
fn a_store_that_does_not_answer_ends_the_start() {
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    sandbox.write("key", [7; 32]);
    fs::set_permissions(sandbox.path("key"), fs::Permissions::from_mode(0o600)).expect("it is our file");
    // Nothing listens on port 1 of an address that no other program uses.
    let port = 1;
    let launch = sandbox.pmcp(&["run"]).arg(&file).arg("--transport").arg("http").arg("--port").arg("0");
    let launch = launch.arg("--sealing-key-file").arg(sandbox.path("key"));
    let host = launch.env("PMCP_STORE", format!("redis://zoe:hunter2@127.64.0.1:{port}/0")).start();
    assert_eq!(host.exit().code(), Some(1));
    let said = host.stderr();
    assert!(said.contains(&format!("the store of --store: redis://127.64.0.1:{port}/0 cannot be reached")), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("zoe"), "{said}");
}

#[test]
fn the_settings_show_no_password_of_the_store() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let words = [
        "config",
        "show",
        "run",
        "basics.py",
        "--transport",
        "http",
        "--store",
        "redis://ann:hunter2@a/0?pass=hunter2",
    ];
    let output = sandbox.pmcp(&words).command().output().expect("pmcp starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let row = text.lines().find(|line| line.starts_with("store ")).unwrap_or_else(|| panic!("no row in {text}"));
    let columns: Vec<_> = row.split_whitespace().collect();
    assert_eq!(columns, ["store", "redis://a/0", "--store"], "{text}");
}

/// A client without a session listens at one server, and a call at the other one changes the list for everyone.
#[test]
fn a_listener_hears_of_changes_at_another_server() {
    let redis = Redis::start();
    let flags = ["--sdk", "bundled"];
    let (a, b) = (redis.serve("sdk/grows.py", &flags), redis.serve("sdk/grows.py", &flags));
    both_receive_notices(&redis);
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta(&json!({}))});
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let mut stream = a.stream("POST", "/mcp", &headers, &request.to_string());
    stream.line_with("notifications/subscriptions/acknowledged").expect("the stream begins");

    let grow = json!({"name": "grow", "arguments": {}, "_meta": meta(&json!({}))});
    assert_eq!(stateless(&b, &grow)["result"]["content"][0]["text"], "grown");
    let changed = stream.line_with("list_changed").expect("the change comes from the other server");
    assert!(changed.contains("notifications/tools/list_changed"), "{changed}");
}
