//! The gateway: `pmcp run` in front of other MCP servers, and the official suite through it.

use std::path::Path;

use protomcp_client::Mode;
use protomcp_conformance::{Everything, Sandbox, Web, eventually, living, peers, pmcp, suite};
use protomcp_gateway::{Gateway, Upstream};
use protomcp_http::{Config, Listener, Routes, StreamableHttp};
use protomcp_http_client::HttpTransport;
use protomcp_transport::boxed::Boxed;
use rustix::process::Signal;
use serde_json::json;

/// Scenarios about the questions of a stateless server that one with sessions asks in another way: without names, one by
/// one, and from within a task that has begun.
const ASKED_OTHERWISE: &[&str] = &[
    "input-required-result-basic-elicitation",
    "input-required-result-ignore-extra-params",
    "input-required-result-multiple-input-requests",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
];

fn over_http(sandbox: &Sandbox, args: &[&str]) -> Web {
    let launch = sandbox.pmcp(&[&["run", "--transport", "http", "--port", "0"], args].concat());
    Web::launch(sandbox.clone(), launch)
}

/// The published server asks for the roots after the handshake and after each change, never in a call.
#[test]
fn a_server_has_the_roots_of_the_client_on_stdio() {
    let sandbox = Sandbox::new();
    let (given, first, second) = (sandbox.path("given"), sandbox.path("first"), sandbox.path("second"));
    [&given, &first, &second].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let server = peers().join("servers/node_modules/.bin/mcp-server-filesystem");
    let host = sandbox.with_node().pmcp(&["run", "--"]).arg(server).arg(&given).start();
    let id = host.begin_with("2025-11-25", &json!({"roots": {"listChanged": true}}));
    host.answer(id);
    let allowed = || host.text("list_allowed_directories", &json!({}));
    let mut place = 0;
    for root in [first, second] {
        let asked = host.wait_for("a request for the roots", place, |message| message.method() == "roots/list");
        place = host.now();
        host.reply(&asked, &json!({"roots": [{"uri": format!("file://{}", root.display())}]}));
        let shown = root.to_str().unwrap();
        eventually("the directories of the root", || allowed().contains(shown).then_some(()));
        host.tell("notifications/roots/list_changed", &json!({}));
    }
}

#[test]
fn the_official_suite_passes_before_a_stateless_server() {
    let server = Everything::start(&[]);
    let gateway = over_http(&Sandbox::new(), &["--upstream", server.url()]);
    suite::assert_passes(&format!("http://localhost:{}/mcp", gateway.port()), &suite::SERVER_RUNS[..2], &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_suite_passes_before_a_server_with_sessions() {
    let server = Everything::start(&[]);
    let url = server.url().to_owned();
    let upstream = Upstream::new("everything", move || {
        let transport = HttpTransport::new(&url);
        async move { Ok(Boxed::new(transport?)) }
    });
    let gateway = Gateway::builder("gateway", "1").upstream(upstream.mode(Mode::Stateful)).open().await.unwrap();
    let service = StreamableHttp::new(gateway.server(), Config::default());
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { protomcp_http::serve(listener, Routes::new(service)).await });
    tokio::task::spawn_blocking(move || suite::assert_passes(&url, &suite::SERVER_RUNS[..2], ASKED_OTHERWISE))
        .await
        .unwrap();
}

#[test]
fn a_command_is_served_on_stdio_and_ends_with_pmcp() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let server = Path::to_str(pmcp()).unwrap();
    let host = sandbox.pmcp(&["run", "--", server, "run", "basics.py"]).start();
    host.initialize();
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    host.hang_up();
    assert!(host.exit().success());
    assert_eq!(living(sandbox.marker()), [], "the server and its tool process have ended");
    let host = sandbox.pmcp(&["run", "--", server, "run", "basics.py"]).start();
    host.initialize();
    host.signal(Signal::KILL);
    host.no_orphans();
}

#[test]
fn a_hangup_without_a_watched_server_says_so() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "--", Path::to_str(pmcp()).unwrap(), "run", "basics.py"]).start();
    host.initialize();
    host.signal(Signal::HUP);
    host.stderr_with("no server is watched, so that nothing is reloaded; restart pmcp to start servers again");
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
}

#[test]
fn a_command_that_ends_is_started_again() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let server = Path::to_str(pmcp()).unwrap();
    let host = sandbox.pmcp(&["run", "--", server, "run", "basics.py"]).start();
    host.initialize();
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    let place = host.now();
    let servers = living(sandbox.marker());
    let is_server = |command: &str| command.ends_with("run basics.py") && !command.contains(" -- ");
    let server = servers.iter().find(|process| is_server(&process.command));
    let pid = i32::try_from(server.expect("the server is alive").pid).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    host.list_changed(place);
    assert_eq!(host.text("add", &json!({"a": 2, "b": 4})), "6");
}

#[test]
fn servers_of_a_file_are_one_and_one_may_be_down() {
    let everything = Everything::start(&[]);
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let servers = json!({"mcpServers": {
        "files": {"command": Path::to_str(pmcp()).unwrap(), "args": ["run", "basics.py"]},
        "web": {"url": everything.url()},
        "gone": {"url": "http://127.0.0.1:9/mcp"},
    }});
    sandbox.write("servers.json", servers.to_string());
    let host = sandbox.pmcp(&["run", "--config", "servers.json"]).start();
    host.initialize();
    assert_eq!(host.text("files_add", &json!({"a": 2, "b": 3})), "5");
    assert_eq!(host.text("web_test_simple_text", &json!({})), "This is a simple text response for testing.");
    let names = host.names();
    assert!(names.iter().all(|name| name.starts_with("files_") || name.starts_with("web_")), "{names:?}");
    let down = host.call("gone_any", &json!({}));
    assert_eq!(down["_meta"]["protomcp/error"]["retryable"], true, "{down}");
    drop(everything);
    eventually("the call to fail", || {
        let result = host.call("web_test_simple_text", &json!({}));
        (result["isError"] == true).then_some(())
    });
    assert_eq!(host.text("files_add", &json!({"a": 1, "b": 1})), "2");
}

#[test]
fn without_a_server_pmcp_says_why() {
    for (args, code, part) in [
        (&["run", "--", "no-such-program"][..], 2, "no-such-program"),
        (&["run", "--", "sh", "-c", "echo broken >&2; exit 3"], 1, "sh exited with status 3"),
        (&["run", "--quiet", "--", "sh", "-c", "echo broken >&2; exit 3"], 1, "broken"),
        (&["run", "--upstream", "http://127.0.0.1:9/mcp"], 1, "127.0.0.1:9"),
    ] {
        let output = Sandbox::new().pmcp(args).command().output().unwrap();
        let text = format!("\n{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.rsplit_once("\nerror: ").is_some_and(|(_, error)| error.contains(part)), "{args:?}: {text}");
    }
}

#[test]
fn the_output_of_a_server_that_ends_is_shown_once() {
    for command in ["run", "dev"] {
        let sandbox = Sandbox::new();
        let words = [command, "--upstream-era", "stateful", "--", "sh", "-c", "echo broken >&2; exit 3"];
        let host = sandbox.pmcp(&words).start();
        // The first message of the host starts the server.
        host.request("initialize", &json!({}));
        let log = host.stderr_with("exited with status 3");
        // A line of the log begins with its time, and a reason that quotes the output has further lines.
        assert!(log.contains("Z broken\n"), "{command}: {log}");
        assert!(!log.contains("\nbroken") && !log.contains("\n  broken"), "{command}: {log}");
    }
}

#[test]
fn a_host_that_goes_before_the_server_answers_ends_both() {
    for command in ["run", "dev"] {
        let sandbox = Sandbox::new();
        let words = [command, "--drain-timeout", "10ms", "--", "sh", "-c", "echo started >&2; exec sleep 1000"];
        let host = sandbox.pmcp(&words).start();
        host.request("initialize", &json!({}));
        host.stderr_with("started");
        host.hang_up();
        assert_eq!(host.exit().code(), Some(1), "{command}: {}", host.stderr());
        assert!(host.stderr().contains("the host closed its end before"), "{command}: {}", host.stderr());
        host.no_orphans();
    }
}

#[test]
fn a_list_that_the_end_cuts_short_names_the_silent_server() {
    let server = r#"
import json, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    if request["method"] == "initialize":
        info = {"name": "s", "version": "1"}
        send(id=request["id"], result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif request["method"] == "tools/list" and sys.argv[1] == "answers":
        send(id=request["id"], result={"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})
    elif "id" in request and request["method"] != "tools/list":
        send(id=request["id"], error={"code": -32601, "message": "method not found"})
"#;
    let sandbox = Sandbox::new();
    sandbox.write("server.py", server);
    let servers = json!({"mcpServers": {
        "good": {"command": "python3", "args": ["server.py", "answers"]},
        "bad": {"command": "python3", "args": ["server.py", "hangs"]},
    }});
    sandbox.write("servers.json", servers.to_string());
    let host = sandbox.pmcp(&["run", "--config", "servers.json", "--drain-timeout", "1s"]).start();
    host.initialize();
    let id = host.request("tools/list", &json!({}));
    host.hang_up();
    let answer = host.answer(id).value;
    assert_eq!(answer["result"]["tools"][0]["name"], "good_a", "{answer}");
    host.stderr_with("server \"bad\" did not answer before the request was cancelled or its session ended");
}
