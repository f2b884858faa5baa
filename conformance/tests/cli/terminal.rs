//! `pmcp dev` in a terminal, where the author of the tools reads its status.

use protomcp_conformance::{Host, Launch, Sandbox, Web, peers, pmcp};
use rustix::process::Signal;
use serde_json::json;

const TOOLS: &str = r#"
from protomcp import tool

@tool("Adds two numbers.")
def add(a: int, b: int) -> str:
    return str(a + b)

@tool("Divides two numbers.")
def divide(a: int, b: int) -> str:
    return str(a / b)
"#;

/// Replaces itself by a program whose standard input is a terminal, in which `KEYS` are typed, or with `FORWARD` all that comes
/// on standard input.
const TERMINAL: &str = "\
import os, pty, sys
keyboard, terminal = pty.openpty()
os.set_inheritable(keyboard, True)
if os.environ.get('FORWARD') and os.fork() == 0:
    os.close(1); os.close(2); os.close(terminal)
    while data := os.read(0, 4096):
        os.write(keyboard, data)
    os._exit(0)
os.dup2(terminal, 0)
os.write(keyboard, os.environ.get('KEYS', '').encode())
os.execv(sys.argv[1], sys.argv[1:])";

fn in_terminal(sandbox: &Sandbox, flags: &[&str]) -> Launch {
    sandbox.write("tools.py", TOOLS);
    let program = pmcp().to_string_lossy();
    let words = [&["-c", TERMINAL, &program, "dev", "tools.py"], flags].concat();
    sandbox.pmcp(&words).program(peers().join("py/bin/python"))
}

/// Types a conversation with one call.
fn typed(launch: Launch) -> Host {
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}),
    ];
    let host = launch.env("KEYS", lines.map(|line| format!("{line}\n")).concat()).start();
    assert_eq!(host.answer(2).value["result"]["content"][0]["text"], "3");
    host
}

/// The log of a server on stdio, up to its end.
fn log(host: &Host) -> String {
    host.signal(Signal::TERM);
    assert!(host.exit().success(), "{}", host.stderr());
    host.stderr()
}

#[test]
fn the_status_shows_tools_calls_and_changes() {
    let sandbox = Sandbox::new();
    let launch = in_terminal(&sandbox, &["--transport", "http", "--port", "0"]);
    let mut web = Web::launch(sandbox.clone(), launch);
    web.process().stderr_with("pmcp: 2 tools: add, divide\n");
    web.initialize();
    web.call("add", &json!({"a": 1, "b": 2}));
    web.process().stderr_with("pmcp: add: ok, ");
    web.call("divide", &json!({"a": 1, "b": 0}));
    web.process().stderr_with("pmcp: divide: tool error, ");
    web.process().stderr_with(": division by zero\n");
    let more = "\n\n@tool(\"Multiplies.\")\ndef multiply(a: int, b: int) -> str:\n    return str(a * b)\n";
    sandbox.write("tools.py", TOOLS.replace("def add", "def sum").replace("Divides two", "Divides") + more);
    let text = web.process().stderr_with("pmcp: 3 tools: added multiply, sum; removed add; changed divide\n");
    let (before, _) = text.split_once("pmcp: 3 tools").expect("it was just found");
    assert!(before.contains("pmcp: reloaded"), "lines come in the order of the events: {text}");
}

#[test]
fn the_status_shows_the_calls_of_a_command() {
    let sandbox = Sandbox::new();
    sandbox.copy("dev/server.py");
    let (program, python) = (pmcp().to_string_lossy(), peers().join("mcp/bin/python"));
    let words =
        ["-c", TERMINAL, &program, "dev", "--transport", "http", "--port", "0", "--", &python.to_string_lossy()];
    let launch = sandbox.pmcp(&words).arg("server.py").program(peers().join("py/bin/python"));
    let mut web = Web::launch(sandbox.clone(), launch.env("WORK_LOG", sandbox.path("work.log")));
    web.initialize();
    web.call("work", &json!({"id": 1, "ms": 0}));
    web.process().stderr_with("pmcp: work: ok, ");
    web.call("work", &json!({"id": "one"}));
    web.process().stderr_with("pmcp: work: tool error, ");
}

#[test]
fn a_server_on_the_keyboard_says_how_clients_connect() {
    let sandbox = Sandbox::new();
    let host = in_terminal(&sandbox, &[]).start();
    let text = host.stderr_with("pmcp: 2 tools: add, divide\n");
    for command in ["pmcp playground tools.py ", "pmcp dev tools.py --transport http ", "pmcp install tools.py "] {
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn the_status_keeps_to_the_flags_of_the_log() {
    let sandbox = Sandbox::new();
    let objects = log(&typed(in_terminal(&sandbox, &["--log-format", "json"])));
    assert!(objects.contains(r#""message":"2 tools: add, divide""#), "{objects}");
    assert!(objects.contains(r#""tool":"add","outcome":"ok","ms":"#), "{objects}");
    assert!(objects.lines().all(|line| line.starts_with("{\"timestamp\"")), "{objects}");
    assert_eq!(log(&typed(in_terminal(&sandbox, &["--quiet"]))), "");
}

const WAIT: &str = r#"
import asyncio, pathlib

@tool("Waits for a file.")
async def wait() -> str:
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    return "gone"
"#;

#[test]
fn typed_commands_call_reload_and_end() {
    let sandbox = Sandbox::new();
    let launch = in_terminal(&sandbox, &["--transport", "http", "--port", "0", "--sdk", "bundled"]);
    sandbox.write("tools.py", TOOLS.to_owned() + WAIT);
    let host = launch.env("FORWARD", "1").start();
    host.stderr_with("pmcp: type r to reload, c TOOL NAME=VALUE to call a tool, or q to end, and Enter\n");
    host.line("c add a=1 b=2");
    host.stderr_with("pmcp: add: ok, ");
    host.stderr_with("\n3\n");
    host.line("r");
    host.stderr_with("pmcp: reloaded");
    // A line that is not UTF-8, or a call that takes long, stops none after it.
    host.bytes(b"\xff\xfe\n");
    host.line("x");
    host.stderr_with("\"x\" is not a command: type r to reload");
    host.line("c wait");
    host.line("c add {\"a\": 3, \"b\": 4}");
    host.stderr_with("\n7\n");
    sandbox.write("go", "");
    host.stderr_with("\ngone\n");
    host.line("q");
    host.hang_up();
    assert!(host.exit().success(), "{}", host.stderr());
    assert!(host.stderr().contains("pmcp: draining"), "{}", host.stderr());
}

#[test]
fn a_typed_call_has_the_secret_and_an_answer_with_a_quiet_log() {
    let sandbox = Sandbox::new();
    let flags = ["--transport", "http", "--port", "0", "--auth", "token:TYPED", "--quiet"];
    let host = in_terminal(&sandbox, &flags).env("TYPED", "s3cret").env("FORWARD", "1").start();
    host.line("c add a=1 b=2");
    host.stderr_with("3\n");
    host.line("q");
    host.hang_up();
    assert!(host.exit().success(), "{}", host.stderr());
    assert_eq!(host.stderr(), "3\n");
}

#[test]
fn a_host_on_a_pipe_gets_no_status() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let host = sandbox.pmcp(&["dev", "tools.py"]).start();
    host.initialize();
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
    let text = log(&host);
    assert!(!text.contains("2 tools") && !text.contains("add: ok") && !text.contains("terminal"), "{text}");
}
