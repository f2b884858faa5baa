//! `pmcp list` and `pmcp call`: a server as a command of the shell.

mod odd_servers;

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use protomcp_conformance::{Everything, Sandbox, Web, eventually, judge, living, peers, pmcp};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::terminal::Terminal;

/// Runs `pmcp` in a folder with a tool file, to its end.
fn run(sandbox: &Sandbox, args: &[&str], input: &str) -> Output {
    let mut command = sandbox.pmcp(args).command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("pmcp starts");
    child.stdin.take().expect("it was piped").write_all(input.as_bytes()).expect("pmcp reads its input");
    child.wait_with_output().expect("pmcp ends")
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    sandbox
}

/// The output of a command that succeeds.
#[track_caller]
fn printed(sandbox: &Sandbox, args: &[&str], input: &str) -> String {
    let output = run(sandbox, args, input);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The exit code and the error of a command that fails.
fn error(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let output = run(sandbox, args, "");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn tools_of_a_file_are_listed_and_called() {
    let sandbox = sandbox();
    let list = printed(&sandbox, &["list", "basics.py"], "");
    let is_add = |line: &str| line.starts_with("add(a: integer, b: integer) ") && line.ends_with("Adds two integers.");
    assert!(list.lines().any(is_add), "{list}");
    let json: Vec<Value> = serde_json::from_str(&printed(&sandbox, &["list", "--json", "basics.py"], "")).unwrap();
    assert_eq!(json.len(), list.lines().count());
    assert!(json.iter().all(|tool| tool["inputSchema"]["type"] == "object"), "{json:?}");

    assert_eq!(printed(&sandbox, &["call", "basics.py", "add", "a=2", "b=3"], ""), "5\n");
    std::fs::copy(sandbox.path("basics.py"), sandbox.path("UPPER.PY")).unwrap();
    assert_eq!(printed(&sandbox, &["call", "UPPER.PY", "add", "a=2", "b=3"], ""), "5\n");
    assert_eq!(printed(&sandbox, &["call", "basics.py", "echo", r#"{"text": "a=b"}"#], ""), "a=b\n");
    assert_eq!(printed(&sandbox, &["call", "basics.py", "echo", "-"], r#"{"text": "from a pipe"}"#), "from a pipe\n");
    let result = printed(&sandbox, &["call", "--json", "basics.py", "add", "a=1", "b=1"], "");
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["content"], json!([{"type": "text", "text": "2"}]));
    assert_eq!(living(sandbox.marker()), [], "the tool process has ended");
    assert_eq!(sandbox.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_command_is_a_server() {
    let sandbox = sandbox();
    let server = Path::to_str(pmcp()).unwrap();
    let list = printed(&sandbox, &["list", "--", server, "run", "basics.py"], "");
    assert_eq!(list, printed(&sandbox, &["list", "basics.py"], ""));
    assert_eq!(printed(&sandbox, &["call", "add", "a=2", "b=3", "--", server, "run", "basics.py"], ""), "5\n");
    let (code, text) = error(&sandbox, &["list", "--", "sh", "-c", "echo broken >&2; exit 3"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("3") && text.contains("broken"), "{text}");
    let (code, text) = error(&sandbox, &["list", "--", "no-such-program"]);
    assert!(code == Some(2) && text.contains("program not found: no-such-program"), "{text}");
    let (code, text) = error(&sandbox, &["list", "basics.py", "--runtime", "no-such-program"]);
    assert!(code == Some(2) && text.contains("program not found: no-such-program"), "{text}");
    assert_eq!(living(sandbox.marker()), [], "the servers have ended");
}

#[test]
fn text_of_a_server_between_its_messages_is_its_output() {
    let sandbox = sandbox();
    let script = format!("echo Loading the model; exec {} run basics.py", pmcp().display());
    let arguments = ["call", "--log-level", "info", "add", "a=2", "b=3", "--", "sh", "-c", &script];
    let output = run(&sandbox, &arguments, "");
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"5\n"[..]), "{log}");
    assert!(log.contains("sh: Loading the model") && log.contains("where only messages belong"), "{log}");
    assert!(!log.contains("cannot be read"), "{log}");
}

#[test]
fn ctrl_c_ends_a_command_with_a_failure() {
    for command in [&["list"][..], &["call", "add"], &["validate"]] {
        let sandbox = sandbox();
        let host = sandbox.pmcp(&[command, &["--", "sleep", "1000"]].concat()).start();
        let is_up = || living(sandbox.marker()).iter().any(|process| process.command == "sleep 1000");
        eventually("the server", || is_up().then_some(()));
        host.signal(Signal::INT);
        assert_eq!(host.exit().code(), Some(1), "{command:?}");
        host.stderr_with("error: interrupted");
        eventually("the end of the server", || living(sandbox.marker()).is_empty().then_some(()));
    }
}

#[test]
fn a_url_is_a_server() {
    let everything = Everything::start(&[]);
    let sandbox = Sandbox::new();
    for (kind, name) in [
        ("tools", "test_simple_text"),
        ("resources", "test://static-text"),
        ("templates", "test://template/{id}/data"),
        ("prompts", "test_simple_prompt"),
    ] {
        let list = printed(&sandbox, &["list", everything.url(), "--kind", kind], "");
        assert!(list.lines().any(|line| line.starts_with(name)), "{kind}: {list}");
    }
    let text = printed(&sandbox, &["call", everything.url(), "test_simple_text"], "");
    assert_eq!(text, "This is a simple text response for testing.\n");
    let image = printed(&sandbox, &["call", everything.url(), "test_image_content"], "");
    assert!(image.starts_with("[image, image/png, "), "{image}");
}

#[test]
fn resources_and_prompts_are_printed() {
    let everything = Everything::start(&[]);
    let sandbox = Sandbox::new();
    let text = printed(&sandbox, &["read", everything.url(), "test://static-text"], "");
    assert_eq!(text, "This is the content of the static text resource.\n");
    let json = printed(&sandbox, &["read", everything.url(), "test://static-binary", "--json"], "");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["contents"][0]["mimeType"], "image/png");
    let text = printed(&sandbox, &["prompt", everything.url(), "test_prompt_with_arguments", "arg1=1", "arg2=b"], "");
    assert_eq!(text, "user: Prompt with arguments: arg1='1', arg2='b'\n");
    for (args, meant) in [
        (["read", everything.url(), "test://static-txt"], "; did you mean test://static-text?"),
        (["prompt", everything.url(), "test_simple_promt"], "; did you mean test_simple_prompt?"),
    ] {
        let (code, text) = error(&sandbox, &args);
        assert!(code == Some(1) && text.contains(meant), "{args:?}: {text}");
    }
}

#[test]
fn forms_are_answered_by_the_command_line() {
    let everything = Everything::start(&[]);
    let sandbox = Sandbox::new();
    let call = ["call", everything.url(), "test_elicitation", "message=Who?"];
    let text = printed(&sandbox, &[&call[..], &["--answer", "username=ann", "--answer", "email=a@b.c"]].concat(), "");
    assert_eq!(text, "Elicitation completed: action=Accept, content={\"username\":\"ann\",\"email\":\"a@b.c\"}\n");
    let (code, text) = error(&sandbox, &[&call[..], &["--answer", "username=ann"]].concat());
    assert!(code == Some(1) && text.contains("--answer email=…: a value is required"), "{text}");
    let misspelt = ["--answer", "username=ann", "--answer", "mail=a@b.c"];
    let (_, text) = error(&sandbox, &[&call[..], &misspelt].concat());
    assert!(
        text.contains("--answer mail=… has no effect: no form has this field; there are username, email"),
        "{text}"
    );
    let (code, text) = error(&sandbox, &[&call[..], &["--era", "stateless"]].concat());
    assert!(code == Some(1) && text.contains("(-32021); it asks its user: give the answers with --answer"), "{text}");
}

/// A server that asks its user without a look at the capabilities of the client.
const ASKING: &str = r#"
import json, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    if request["method"] == "initialize":
        info = {"name": "asks", "version": "1"}
        send(id=request["id"], result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif request["method"] == "tools/call":
        send(id="q", method="elicitation/create", params={"message": "Who?", "requestedSchema": {"type": "object"}})
        json.loads(sys.stdin.readline())
        send(id=request["id"], result={"content": [{"type": "text", "text": "it failed"}], "isError": True})
    elif "id" in request:
        send(id=request["id"], error={"code": -32601, "message": "method not found"})
"#;

#[test]
fn a_question_that_was_not_expected_names_the_flag() {
    let sandbox = sandbox();
    sandbox.write("server.py", ASKING);
    let python = peers().join("py/bin/python");
    let (code, text) = error(&sandbox, &["call", "ask", "--", &python.to_string_lossy(), "server.py"]);
    assert!(code == Some(1) && text.matches("--answer KEY=VALUE").count() == 1, "{text}");
}

#[test]
fn a_call_ends_while_its_question_is_open() {
    let sandbox = Sandbox::new();
    sandbox.write("server.py", ASKING);
    let python = peers().join("py/bin/python");
    let words = ["call", "ask", "--", &python.to_string_lossy(), "server.py"];
    let terminal = Terminal::pmcp(&sandbox, &words);
    terminal.line("Answer? [y/N]");
    terminal.press("C-c");
    assert_eq!(terminal.ended(), "1 icanon");
    assert!(terminal.screen().contains("error: "), "{}", terminal.screen());
}

/// Ends each list with an empty cursor, and begins again with it.
const BEGINS_AGAIN: &str = r#"
import json, sys

TOOL = {"name": "add", "description": "Adds two numbers.", "inputSchema": {"type": "object"}}
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "again", "version": "1"}},
    "tools/list": {"tools": [TOOL], "nextCursor": ""},
    "tools/call": {"content": [{"type": "text", "text": "sum: 3"}]},
}

for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    if "id" in request:
        result = RESULTS.get(request["method"])
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"#;

#[test]
fn lists_that_begin_again_are_read_once() {
    let sandbox = sandbox();
    sandbox.write("server.py", BEGINS_AGAIN);
    let python = peers().join("py/bin/python").to_string_lossy().into_owned();
    for (words, expected) in [
        (&["list"][..], "Adds two numbers."),
        (&["validate"], "✓ add — OK\n! — 1 finding "),
        (&["test", "list"], "Tools (1)"),
        (&["test", "call", "add"], "sum: 3"),
    ] {
        let output = run(&sandbox, &[words, &["--", &python, "server.py"]].concat(), "");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.matches(expected).count() == 1, "{words:?}: {output:?}");
    }
}

#[test]
fn a_list_with_a_cursor_of_another_type_fails() {
    let sandbox = sandbox();
    sandbox.write("server.py", BEGINS_AGAIN.replace(r#""nextCursor": """#, r#""nextCursor": 7"#));
    let python = peers().join("py/bin/python").to_string_lossy().into_owned();
    for words in [&["list"][..], &["validate"], &["test", "list"]] {
        let (code, text) = error(&sandbox, &[words, &["--", &python, "server.py"]].concat());
        assert!(code == Some(1) && text.contains("integer `7`, expected a string"), "{words:?}: {code:?} {text}");
    }
    sandbox.write("scenario.yaml", "steps: [{list: tools}]\n");
    let output = run(&sandbox, &["test", "run", "scenario.yaml", "--", &python, "server.py"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("integer `7`, expected a string"), "{output:?}");
}

/// Knows the first page of its prompts.
#[test]
fn a_method_that_is_unknown_on_a_later_page_fails() {
    let sandbox = sandbox();
    let prompts = r#"{"prompts": [{"name": "brew"}], "nextCursor": "2"}"#;
    let known = r#"RESULTS.get(request["method"]) if "cursor" not in request.get("params", {}) else None"#;
    let server = BEGINS_AGAIN
        .replace(r#""nextCursor": """#, r#""nextCursor": None"#)
        .replace(r#"{"tools": {}}"#, r#"{"tools": {}, "prompts": {}}"#)
        .replace(r#""tools/call": {"#, &format!(r#""prompts/list": {prompts}, "tools/call": {{"#))
        .replace(r#"RESULTS.get(request["method"])"#, known);
    sandbox.write("server.py", server);
    let python = peers().join("py/bin/python").to_string_lossy().into_owned();
    let (code, text) = error(&sandbox, &["test", "list", "--", &python, "server.py"]);
    assert!(code == Some(1) && text.contains("method not found"), "{code:?} {text}");
}

#[test]
fn failures_say_what_to_do_next() {
    let sandbox = sandbox();
    let output = run(&sandbox, &["call", "basics.py", "raise_error"], "");
    assert_eq!(output.status.code(), Some(1), "an error result is a failure");
    assert!(String::from_utf8_lossy(&output.stdout).contains("raised on purpose"), "{output:?}");
    let (code, text) = error(&sandbox, &["call", "basics.py", "nothing_like_it"]);
    assert!(code == Some(1) && text.contains("unknown tool"), "{code:?} {text}");
    let rows: &[(&[&str], &str)] = &[
        (&["list", "basics.py", "--header", "X-A: b"], "--header is for servers at a URL"),
        (&["list", "--runtime", "python3", "--", "cat"], "--runtime is for tool files"),
        (&["list"], "name a tool file, a URL, or a command after --"),
        (&["call", "basics.py"], "`pmcp list` prints the names"),
        (&["call", "basics.py", "add", "--answer", "yes"], "invalid --answer \"yes\": expected KEY=VALUE"),
        (&["read", "basics.py"], "`pmcp list --kind resources` prints the URIs"),
        (&["read", "basics.py", "a:b", "c"], "unexpected argument \"c\""),
        (&["prompt", "basics.py"], "`pmcp list --kind prompts` prints the names"),
        (&["call", "basics.py", "add", "2"], "expected name=value"),
        (&["call", "basics.py", "add", "{a"], "not a JSON object"),
        (&["list", "nowhere.py"], "file not found: nowhere.py"),
        (&["call", "add", "basics.py", "a=2"], "the server comes first: pmcp call basics.py add"),
        (&["list", "basics.py", "--", "true"], "leave one out"),
        (&["list", "http://"], "http://"),
        (&["list", "basics.py", "--header", "x"], "name: value"),
    ];
    for (args, part) in rows {
        let (code, text) = error(&sandbox, args);
        assert!(code == Some(2) && text.contains(part), "{args:?}: {code:?} {text}");
    }
}

#[test]
fn a_server_with_a_token_says_so() {
    let web = Web::start_with("py/basics.py", &["--transport", "http", "--auth", "token:SECRET"], &[("SECRET", "t0k")]);
    let sandbox = Sandbox::new();
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    let (code, text) = error(&sandbox, &["list", &url]);
    assert!(code == Some(1) && text.contains("requires a token") && text.contains("add --header"), "{text}");
    let (_, text) = error(&sandbox, &["list", &url, "--header", "X-API-Key: wrong"]);
    assert!(text.contains("requires a token") && text.contains("add --header"), "{text}");
    let header = ["--header", "Authorization: Bearer t0k"];
    printed(&sandbox, &[&["list", &url], &header[..]].concat(), "");
    // The same over gRPC and WebSocket.
    for url in [format!("grpc://127.0.0.1:{}", web.port()), format!("ws://127.0.0.1:{}/mcp", web.port())] {
        let (code, text) = error(&sandbox, &["list", &url]);
        assert!(code == Some(1) && text.contains("Bearer"), "{url}: {text}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_left_in_time() {
    let sandbox = Sandbox::new();
    sandbox.write("hang.py", "import time\ntime.sleep(600)\n");
    for args in [&["list", "--timeout", "1s", "--", "sleep", "600"][..], &["list", "hang.py", "--timeout", "1s"]] {
        let began = Instant::now();
        let (code, text) = error(&sandbox, args);
        // Without the flag it takes 30 seconds, and says so.
        judge("a server that does not answer", began.elapsed(), Duration::from_secs(25));
        assert!(code == Some(1) && text.contains("within 1s"), "{args:?}: {code:?} {text}");
    }
    assert_eq!(living(sandbox.marker()), [], "the processes have ended");
}

#[test]
fn arguments_arrive_as_they_were_typed() {
    let sandbox = sandbox();
    // The schema says that it is a text.
    assert_eq!(printed(&sandbox, &["call", "basics.py", "echo", "text=12345"], ""), "12345\n");
    for args in [
        &["call", "basics.py", "echo", "text=a", "text=b"][..],
        &["call", "basics.py", "echo", r#"{"text": "a", "text": "b"}"#],
    ] {
        let (code, text) = error(&sandbox, args);
        assert!(code == Some(2) && text.contains("\"text\" is given twice"), "{args:?}: {text}");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let sandbox = sandbox();
    for args in [&["list", "basics.py"][..], &["call", "basics.py", "add", "a=2", "b=3"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = sandbox.pmcp(args).command().stdout(full).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains("cannot write to standard output"), "{args:?}: {text}");
    }
}
