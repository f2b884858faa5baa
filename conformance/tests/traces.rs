//! `pmcp record`, `pmcp replay`, `pmcp mock` and `pmcp scenario`: a conversation with a tool file, held again.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use protomcp_conformance::{Sandbox, Web, living};
use rustix::process::Signal;
use serde_json::{Value, json};

const TOOLS: &str = r#"
from protomcp import ToolContext, tool

@tool("Adds two numbers.")
def add(a: int, b: int) -> str:
    return str(a + b)

@tool("Signs in.")
def sign_in(password: str) -> str:
    return f"signed in with {password}"
"#;

/// A folder with a tool file and a trace of a conversation with it.
fn recorded() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let host = sandbox.pmcp(&["record", "tools.py", "--to", "trace.jsonl"]).start();
    host.initialize();
    assert_eq!(host.names(), ["add", "sign_in"]);
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
    assert_eq!(host.text("sign_in", &json!({"password": "open sesame"})), "signed in with open sesame");
    host.hang_up();
    assert!(host.exit().success());
    assert_eq!(living(sandbox.marker()), [], "the server has ended");
    let trace = fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written");
    (sandbox, trace)
}

/// The exit code, the output and the errors of `pmcp`.
fn run(sandbox: &Sandbox, words: &[&str]) -> (Option<i32>, String, String) {
    let output = sandbox.pmcp(words).command().output().expect("pmcp starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_trace_has_the_messages_and_no_secret() {
    let (_sandbox, trace) = recorded();
    let lines: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!((&lines[0]["trace"], &lines[0]["version"]), (&json!("mcp"), &json!(2)));
    let first = lines.iter().find(|line| line["wire"] == "client").expect("the host has begun");
    assert_eq!((&first["from"], &first["message"]["method"]), (&json!("client"), &json!("initialize")));
    assert!(!trace.contains("sesame") && trace.contains("signed in with [redacted]"), "{trace}");
}

#[test]
fn a_trace_has_the_wire_of_the_tool_process() {
    let (_sandbox, trace) = recorded();
    let lines = || trace.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let tool: Vec<Value> = lines().filter(|line| line["wire"] == "tool").collect();
    assert_eq!((&tool[0]["from"], &tool[0]["message"]["list_tools"]), (&json!("bridge"), &json!({})));
    let calls: Vec<&Value> = tool.iter().filter(|line| line["message"]["call_tool"].is_object()).collect();
    let shown: Vec<_> = calls.iter().map(|line| &line["message"]["call_tool"]["name"]).collect();
    assert_eq!(shown, ["add", "sign_in"]);
    let arguments = calls[1]["message"]["call_tool"]["arguments_json"].as_str().expect("they are text");
    assert!(arguments.contains("[redacted]") && !trace.contains("sesame"), "{arguments}");
    let is_answer = |line: &&Value| line["message"]["request_id"] == calls[0]["message"]["request_id"];
    let answer = tool.iter().rfind(is_answer).expect("the call was answered");
    assert!(answer["from"] == "tool" && answer["message"]["call_result"].is_object(), "{answer}");
}

/// Each message is in the trace, with U+FFFD for half of an emoji.
#[test]
fn a_trace_has_messages_that_are_not_all_text() {
    let sandbox = Sandbox::new();
    let server = r#"
import sys
for line in sys.stdin:
    if '"ping"' in line:
        print(r'{"jsonrpc":"2.0","id":1,"result":{"a":"\ud83d","n":1e400}}', flush=True)
"#;
    sandbox.write("server.py", server);
    let mut record = sandbox.pmcp(&["record", "--to", "trace.jsonl", "--", "python3", "server.py"]).command();
    let mut record = record.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("pmcp starts");
    let mut input = record.stdin.take().expect("it was piped");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"\ud83d"}}}}"#).expect("pmcp reads it");
    let mut answer = String::new();
    BufReader::new(record.stdout.take().expect("it was piped")).read_line(&mut answer).expect("it is text");
    assert!(answer.contains(r"\ud83d") && answer.contains("1e400"), "passed on as it is: {answer}");
    drop(input);
    assert!(record.wait().expect("it ends").success());
    let trace = fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written");
    let read = trace.lines().filter(|line| line.contains("\"a\":\"\u{fffd}\""));
    assert_eq!(read.count(), 2, "{trace}");
    let (code, _, text) = run(&sandbox, &["replay", "trace.jsonl", "--", "python3", "server.py"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn sessions_over_http_are_recorded_and_replayed_apart() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let record =
        ["record", "tools.py", "--to", "trace.jsonl", "--transport", "http", "--port", "0", "--auth", "token:T"];
    let mut one = Web::launch(sandbox.clone(), sandbox.pmcp(&record).env("T", "t0k"));
    assert_eq!(one.call("add", &json!({"a": 7, "b": 7})).status, 401);
    one.carry("authorization", "Bearer t0k");
    for b in [2, 3] {
        // A client that begins anew has the ids of the one before.
        assert!(one.initialize()["capabilities"].is_object());
        assert!(one.call("add", &json!({"a": 1, "b": b})).body.contains(&(1 + b).to_string()));
        one.forget("mcp-session-id");
    }
    one.process().signal(Signal::TERM);
    assert!(one.process().exit().success(), "{}", one.process().stderr());
    let trace = fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written");
    assert!(!trace.contains("t0k") && !trace.contains(r#""a":7"#), "{trace}");
    assert!(trace.contains(r#""session":2"#) && !trace.contains(r#""session":3"#), "{trace}");
    let strict = ["replay", "trace.jsonl", "tools.py", "--strict"];
    let (code, text, error) = run(&sandbox, &strict);
    assert!(code == Some(0) && text == "10 messages, no difference\n", "{text}{error}");
    let mock = sandbox.pmcp(&["mock", "trace.jsonl"]).start();
    mock.initialize();
    assert_eq!(mock.text("add", &json!({"a": 1, "b": 3})), "4", "the mock has the answers of all sessions");
    mock.hang_up();
    sandbox.write("tools.py", TOOLS.replace("str(a + b)", "str(a + b if b == 2 else 0)"));
    let (code, text, _) = run(&sandbox, &strict);
    assert!(code == Some(1) && text.contains("is \"0\", and was \"4\""), "{text}");
}

#[test]
fn a_full_disk_ends_the_trace_and_not_the_conversation() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    // The limit is 2 KiB for each file; without the signal a write beyond it fails as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$@\"";
    let pmcp = sandbox.pmcp(&["-c", script, "sh"]).program("/bin/sh").arg(protomcp_conformance::pmcp());
    let host = ["record", "tools.py", "--to", "trace.jsonl"].iter().fold(pmcp, |pmcp, word| pmcp.arg(*word)).start();
    host.initialize();
    for _ in 0..20 {
        assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
    }
    host.hang_up();
    assert!(host.exit().success());
    assert!(host.stderr().contains("cannot write the trace: "), "{}", host.stderr());
    let trace = fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written");
    assert!(trace.ends_with("}\n") && trace.len() <= 2048, "{trace}");
    assert!(trace.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{trace}");
}

#[test]
fn each_start_has_its_own_trace() {
    let (sandbox, trace) = recorded();
    for number in [2, 3] {
        let (code, _, error) = run(&sandbox, &["record", "tools.py", "--to", "trace.jsonl"]);
        assert!(code == Some(0) && error.contains(&format!("recording to trace-{number}.jsonl")), "{error}");
    }
    assert_eq!(fs::read_to_string(sandbox.path("trace.jsonl")).expect("it stays"), trace);
    let (code, _, error) = run(&sandbox, &["record", "tools.py", "--to", "tools.py"]);
    assert!(code == Some(2) && error.contains("tools.py is there already and not a trace"), "{error}");
    let (code, _, error) = run(&sandbox, &["record", "--to", "none.jsonl", "--", "no-such-program"]);
    assert!(code == Some(2) && !sandbox.path("none.jsonl").exists(), "{error}");
}

/// Host and server write more than a pipe holds before they read, and the host closes its end.
#[test]
fn neither_direction_of_a_server_waits_for_the_other() {
    let sandbox = Sandbox::new();
    let server = r#"
import json, sys
for line in sys.stdin:
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"text": "x" * 200_000}}
    print(json.dumps(answer), flush=True)
"#;
    sandbox.write("server.py", server);
    let mut record = sandbox.pmcp(&["record", "--to", "trace.jsonl", "--", "python3", "server.py"]).command();
    let mut record = record.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("pmcp starts");
    let (mut input, output) = (record.stdin.take().expect("piped"), record.stdout.take().expect("piped"));
    let writing = std::thread::spawn(move || {
        for id in 0..10 {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"a": "y".repeat(200_000)}});
            writeln!(input, "{request}").expect("pmcp reads on");
        }
    });
    let ids: Vec<Value> = BufReader::new(output)
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("it is text")).expect("it is JSON")["id"].take())
        .collect();
    writing.join().expect("all is written");
    assert_eq!(json!(ids), json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert!(record.wait().expect("it ends").success());
    // All requests before the first answer.
    let trace = fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written");
    let mut lines: Vec<_> = trace.lines().collect();
    lines.sort_by_key(|line| line.contains(r#""from":"server""#));
    sandbox.write("sorted.jsonl", lines.join("\n"));
    let (code, _, text) = run(&sandbox, &["replay", "sorted.jsonl", "--", "python3", "server.py"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn the_end_of_a_recorded_server_is_named() {
    let sandbox = Sandbox::new();
    for last in ["exit 3", "exec 0<&-; exit 3"] {
        let host = sandbox.pmcp(&["record", "--to", "trace.jsonl", "--", "sh", "-c", last]).start();
        let text = host.stderr_with("exited with status 3");
        assert!(text.contains("the server closed the connection: sh exited with status 3"), "{text}");
        assert_eq!(host.exit().code(), Some(1), "{text}");
    }
}

#[test]
fn a_server_at_a_url_is_recorded_with_headers() {
    let web = Web::start_with("py/basics.py", &["--transport", "http", "--auth", "token:SECRET"], &[("SECRET", "t0k")]);
    let sandbox = Sandbox::new();
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    let header = ["--header", "Authorization: Bearer ${TOKEN}"];
    let record = [&["record", &url, "--to", "trace.jsonl"], &header[..]].concat();
    let host = sandbox.pmcp(&record).env("TOKEN", "t0k").start();
    host.initialize();
    assert!(host.names().contains(&"add".to_owned()));
    host.hang_up();
    assert!(host.exit().success());
    assert!(!fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written").contains("t0k"));
    let replay = [&["replay", "trace.jsonl", &url], &header[..]].concat();
    let output = sandbox.pmcp(&replay).env("TOKEN", "t0k").command().output().expect("pmcp starts");
    assert!(output.status.success(), "{output:?}");
    let (code, _, error) = run(&sandbox, &replay);
    assert!(code == Some(2) && error.contains("the environment variable TOKEN is not set"), "{error}");
    let (code, _, error) = run(&sandbox, &["replay", "trace.jsonl", "--header", "a: b", "--", "true"]);
    assert!(code == Some(2) && error.contains("--header is for servers at a URL"), "{error}");
}

#[test]
fn planted_secrets_are_nowhere_in_a_trace() {
    let sandbox = Sandbox::new();
    let tools = r#"
from protomcp import tool

@tool("Shows settings.")
def settings(credentials: dict) -> str:
    return "read https://example.com/?access_token=lion&page=2"

@tool("Shows settings as JSON.")
def as_json(note: str = "") -> str:
    return '{"user": "ann", "apiKey": ["zebra"]}'
"#;
    sandbox.write("tools.py", tools);
    let flags = ["--redact-pattern", "otter-[0-9]+", "--redact-pattern", "unused"];
    let host = sandbox.pmcp(&[&["record", "tools.py", "--to", "trace.jsonl"], &flags[..]].concat()).start();
    host.initialize();
    host.names();
    host.text("as_json", &json!({"note": "otter-17"}));
    host.text("settings", &json!({"credentials": {"name": "otter", "values": ["heron"]}}));
    host.text("as_json", &json!({}));
    host.hang_up();
    assert!(host.exit().success());
    let trace = fs::read_to_string(sandbox.path("trace.jsonl")).expect("it was written");
    for secret in ["otter", "heron", "lion", "zebra"] {
        assert!(!trace.contains(secret), "{secret}: {trace}");
    }
    let (code, text, error) = run(&sandbox, &["replay", "trace.jsonl", "tools.py", "--strict"]);
    assert_eq!(code, Some(0), "what was redacted may be anything: {text}{error}");
}

#[test]
fn a_refactored_file_replays_and_a_changed_one_does_not() {
    let (sandbox, _) = recorded();
    let strict = ["replay", "trace.jsonl", "tools.py", "--strict"];
    let (code, text, error) = run(&sandbox, &strict);
    assert!(code == Some(0) && text.ends_with(" messages, no difference\n"), "{text}{error}");
    sandbox.write("tools.py", TOOLS.replace("return str(a + b)", "total = b + a\n    return f'{total}'"));
    assert_eq!(run(&sandbox, &strict).0, Some(0), "the behaviour is the same");
    sandbox.write("tools.py", TOOLS.replace("str(a + b)", "str(a - b)"));
    let (code, text, error) = run(&sandbox, &strict);
    assert_eq!(code, Some(1));
    let expected = "tools/call add: /result/content/0/text is \"-1\", and was \"3\"\n";
    assert!(text.ends_with(expected) && text.starts_with("line "), "{text}");
    assert!(error.contains("1 difference from trace.jsonl"), "{error}");
    assert_eq!(run(&sandbox, &["replay", "trace.jsonl", "tools.py"]).0, Some(0), "the shape is the same");
    sandbox.write("tools.py", TOOLS.replace("def add", "def plus"));
    assert_eq!(run(&sandbox, &["replay", "trace.jsonl", "tools.py"]).0, Some(1), "the tool is gone");
    assert_eq!(living(sandbox.marker()), [], "the servers have ended");
}

#[test]
fn other_messages_do_not_prolong_the_time() {
    let sandbox = Sandbox::new();
    let server = r#"
import sys
sys.stdin.readline()
while True:
    print('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', flush=True)
"#;
    sandbox.write("server.py", server);
    let trace = r#"{"trace":"mcp","version":1}
{"at":0,"from":"client","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}
{"at":1,"from":"server","message":{"jsonrpc":"2.0","id":1,"result":{}}}
"#;
    sandbox.write("trace.jsonl", trace);
    let words = ["replay", "trace.jsonl", "--timeout", "1s", "--", "python3", "server.py"];
    let (code, text, error) = run(&sandbox, &words);
    assert_eq!((code, text.as_str()), (Some(1), "line 3, ping: it did not come within 1s\n"), "{error}");
}

#[test]
fn a_mock_answers_without_the_tool() {
    let (sandbox, _) = recorded();
    fs::remove_file(sandbox.path("tools.py")).expect("it was there");
    let host = sandbox.pmcp(&["mock", "trace.jsonl"]).start();
    assert_eq!(host.initialize()["protocolVersion"], "2025-11-25");
    assert_eq!(host.names(), ["add", "sign_in"]);
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
    assert_eq!(host.text("sign_in", &json!({"password": "any"})), "signed in with [redacted]");
    let refused = host.refused("tools/call", &json!({"name": "add", "arguments": {"a": 5, "b": 2}}));
    assert_eq!(refused["code"], -32602);
    host.hang_up();
    assert!(host.exit().success());
}

#[test]
fn a_trace_becomes_a_scenario() {
    let (sandbox, _) = recorded();
    let (code, text, error) = run(&sandbox, &["scenario", "trace.jsonl"]);
    assert!(
        code == Some(0) && text.starts_with("# Made of trace.jsonl by `pmcp scenario`.\nsteps:\n"),
        "{text}{error}"
    );
    assert!(!text.contains("sesame"), "{text}");
    sandbox.write("bug.yaml", text);
    let test = ["test", "tools.py", "run", "bug.yaml"];
    let (code, text, error) = run(&sandbox, &test);
    assert!(code == Some(0) && text.ends_with("1 of 1 scenarios passed, 3 of 3 steps\n"), "{text}{error}");
    sandbox.write("tools.py", TOOLS.replace("str(a + b)", "str(a - b)"));
    let (code, text, _) = run(&sandbox, &test);
    assert!(code == Some(1) && text.contains("text: expected \"3\", got \"-1\""), "{text}");
}

#[test]
fn a_file_is_recorded_with_the_sdk_that_is_named() {
    let sandbox = Sandbox::new();
    // The published SDK, which is installed, has no such name.
    sandbox.write("tools.py", TOOLS.replace("import ToolContext, tool", "import AskError, tool"));
    let host = sandbox.pmcp(&["record", "tools.py", "--to", "trace.jsonl", "--sdk", "bundled"]).start();
    host.initialize();
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
    host.hang_up();
    assert!(host.exit().success());
    let strict = ["replay", "trace.jsonl", "tools.py", "--strict"];
    assert_eq!(run(&sandbox, &strict).0, Some(1), "the installed SDK does not start it");
    let (code, text, error) = run(&sandbox, &[&strict[..], &["--sdk", "bundled"]].concat());
    assert_eq!(code, Some(0), "{text}{error}");
    let (code, _, error) = run(&sandbox, &["replay", "trace.jsonl", "--sdk", "bundled", "--", "sleep", "1000"]);
    assert!(code == Some(2) && error.contains("--runtime and --sdk are for tool files"), "{error}");
}

#[test]
fn only_regular_files_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let made = Command::new("mkfifo").arg(sandbox.path("pipe")).status().expect("mkfifo is there");
    assert!(made.success());
    for file in ["/dev/zero", "pipe"] {
        for words in [
            &["mock", file][..],
            &["scenario", file],
            &["replay", file, "tools.py"],
            &["test", "tools.py", "run", file],
            &["run", "--config", file],
            &["config", "show", "--config", file],
        ] {
            let (code, _, error) = run(&sandbox, words);
            assert!(code == Some(2) && error.contains(&format!("{file}: not a regular file")), "{words:?}: {error}");
        }
    }
    symlink("/dev/zero", sandbox.path("pmcp.toml")).expect("a link can be made in the sandbox");
    let (code, _, error) = run(&sandbox, &["list", "tools.py"]);
    assert!(code == Some(2) && error.contains("pmcp.toml: not a regular file"), "{error}");
}

#[test]
fn mistakes_about_traces_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    sandbox.write("no.jsonl", "{}\n");
    sandbox.write("empty.jsonl", "{\"trace\":\"mcp\",\"version\":1}\n");
    sandbox.write("bad.jsonl", "{\"trace\":\"mcp\",\"version\":1}\n{\"at\":1}\n");
    let rows: &[(&[&str], &str)] = &[
        (&["mock", "none.jsonl"], "none.jsonl: No such file"),
        (&["scenario", "none.jsonl"], "none.jsonl: No such file"),
        (&["scenario", "empty.jsonl"], "empty.jsonl has no call, list, resource or prompt with an answer: record"),
        (&["mock", "no.jsonl"], "no.jsonl: the first line is not the header of a trace"),
        (&["replay", "bad.jsonl", "tools.py"], "bad.jsonl: line 2: missing field `from`"),
        (&["replay", "bad.jsonl"], "missing server"),
        (&["record", "tools.py"], "--to"),
        (
            &["record", "tools.py", "--to", "a.jsonl", "--redact-pattern", "("],
            "invalid --redact-pattern: \"(\" is not a",
        ),
        (&["replay", "bad.jsonl", "tools.py", "--ignore", "x"], "expected a JSON pointer"),
        (&["record", "--to", "a.jsonl", "--", "no-such-program"], "program not found: no-such-program"),
        (&["record", "tools.py", "--to", "a.jsonl", "--transport", "tcp"], "use --transport stdio or http"),
        (&["record", "tools.py", "--to", "a.jsonl", "--client-id", "x"], "--client-id is for --upstream"),
        (&["record", "http://localhost:1/mcp", "--to", "a.jsonl", "--", "true"], "both http://localhost:1/mcp and a"),
        (&["replay", "bad.jsonl", "tools.py", "--client-id", "x"], "so are --client-id"),
    ];
    for (words, part) in rows {
        let (code, _, error) = run(&sandbox, words);
        assert!(code == Some(2) && error.contains(part), "{words:?}: {code:?} {error}");
    }
}
