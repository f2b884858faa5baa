//! `pmcp test`: lists, a call with its messages, and scenarios.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use protomcp_conformance::{Sandbox, living, pmcp};
use protomcp_testing::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The exit code, the output and the errors of `pmcp` in a folder.
fn run(sandbox: &Sandbox, words: &[&str]) -> (Option<i32>, String, String) {
    let output = sandbox.pmcp(words).command().output().expect("pmcp starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    assert_eq!(living(sandbox.marker()), [], "the tool process has ended");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn sandbox(fixture: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.copy(fixture);
    sandbox
}

/// Item 93.
#[test]
fn lists_are_printed_in_both_word_orders() {
    let sandbox = sandbox("py/basics.py");
    let (code, text, error) = run(&sandbox, &["test", "basics.py", "list"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(
        text.starts_with("Tools (")
            && text.contains("\n  add — Adds two integers.\n    a (integer, required)\n    b (integer, required)\n\n"),
        "{text}"
    );
    assert!(text.ends_with("\nResources (0):\n  (no resources)\n\nPrompts (0):\n  (no prompts)\n"), "{text}");
    assert_eq!(run(&sandbox, &["test", "list", "basics.py"]).1, text);
    let (_, json, _) = run(&sandbox, &["test", "list", "basics.py", "--format", "json"]);
    let lists: Value = serde_json::from_str(&json).expect("it is JSON");
    assert!(lists["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "add")));
    assert_eq!((&lists["resources"], &lists["prompts"]), (&json!([]), &json!([])));
    assert!(json.starts_with("{\n  \""), "indented by two");
}

/// Item 93.
#[test]
fn a_call_is_printed_with_its_messages() {
    let sandbox = sandbox("py/basics.py");
    let words = ["test", "basics.py", "call", "add", "--args", r#"{"a": 2, "b": 3}"#];
    let (code, text, error) = run(&sandbox, &words);
    assert_eq!(code, Some(0), "{error}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Tool: add");
    assert!(lines[1].starts_with("Duration: ") && lines[1].ends_with('s'), "{text}");
    assert_eq!(lines[2..7], ["Status: ok", "", "Result:", "  5", ""]);
    assert_eq!(lines[7], "Trace (5 messages):");
    let labels: Vec<&str> = lines[8..].iter().map(|line| &line[17..]).collect();
    let expected = [
        "send initialize",
        "recv initialize response",
        "send notifications/initialized",
        "send tools/call",
        "recv tools/call response",
    ];
    assert_eq!(labels, expected, "{text}");
    let both = run(&sandbox, &["test", "call", "basics.py", "add", "--args={\"a\": 2, \"b\": 3}", "--trace=false"]).1;
    assert!(both.ends_with("Result:\n  5\n"), "{both}");
    for words in [["call", "basics.py", "add", "a=2", "b=3"], ["basics.py", "call", "add", "a=2", "b=3"]] {
        let text = run(&sandbox, &[&["test", "--trace=false"], &words[..]].concat()).1;
        assert!(text.ends_with("Result:\n  5\n"), "{words:?}: {text}");
    }
}

/// Item 93.
#[test]
fn a_call_is_json_for_programs() {
    let sandbox = sandbox("py/basics.py");
    let words = ["test", "basics.py", "call", "fail_with_text", "--format", "json"];
    let (code, text, error) = run(&sandbox, &words);
    assert_eq!(code, Some(1), "an error result is a failure");
    assert!(error.contains("the tool \"fail_with_text\" reports an error"), "{error}");
    let call: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&call["tool"], &call["isError"]), (&json!("fail_with_text"), &json!(true)));
    assert!(call["content"].is_array() && call["duration"].as_str().is_some_and(|time| time.ends_with('s')), "{text}");
    let trace = call["trace"].as_array().expect("a list");
    for (seq, entry) in trace.iter().enumerate() {
        assert_eq!(entry["seq"], seq);
        let raw: Value = serde_json::from_str(entry["raw"].as_str().expect("a text")).expect("a message");
        assert_eq!(raw["jsonrpc"], "2.0");
        assert!(entry["timestamp"].as_str().is_some_and(|time| time.len() == 24 && time.ends_with('Z')), "{entry}");
    }
    assert_eq!((&trace[0]["direction"], &trace[0]["method"]), (&json!("send"), &json!("initialize")));
    let client = trace[0]["raw"].as_str().unwrap_or_default();
    assert!(client.contains(r#""name":"protomcp-test-engine","version":"1.0.0""#), "{client}");
}

/// Items 25, 93.
#[test]
fn hidden_tools_are_not_listed_and_changes_are_named() {
    let sandbox = sandbox("py/clients.py");
    sandbox.write("shop.py", block("python"));
    let (_, text, _) = run(&sandbox, &["test", "shop.py", "list"]);
    assert!(text.contains("  pay — ") && !text.contains("receipt"), "{text}");
    sandbox.write("paid.py", block("python").replace("CART: list[str] = []", "CART: list[str] = ['x']"));
    let (code, text, _) = run(&sandbox, &["test", "paid.py", "call", "pay"]);
    assert!(code == Some(0) && text.contains("\nTools enabled: [receipt]\n") && !text.contains("disabled"), "{text}");
}

/// The blocks of the document in this language.
fn block(language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/scenarios.md");
    let text = fs::read_to_string(path).expect("the document is there");
    let (_, after) = text.split_once(&format!("```{language}\n")).expect("a block in this language");
    after.split_once("```").expect("the end of a block").0.to_owned()
}

/// Item 94.
#[test]
fn the_scenario_of_the_document_passes() {
    let sandbox = Sandbox::new();
    sandbox.write("shop.py", block("python"));
    sandbox.write("shop.yaml", block("yaml"));
    let words = ["test", "shop.py", "run", "shop.yaml", "--junit", "report.xml"];
    let (code, text, error) = run(&sandbox, &words);
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(
        text.starts_with("shop: a cart is paid for\n  ✓ list tools ")
            && text.ends_with("1 of 1 scenarios passed, 7 of 7 steps\n"),
        "{text}"
    );
    let junit = fs::read_to_string(sandbox.path("report.xml")).expect("it was written");
    assert!(junit.contains("tests=\"7\" failures=\"0\" skipped=\"0\""), "{junit}");
    let (code, text, _) = run(&sandbox, &["test", "scenario", "shop.py", "shop.yaml", "--set", "item=pear"]);
    assert!(code == Some(0) && text.contains("7 of 7 steps"), "{text}");
}

/// Item 94.
#[test]
fn a_scenario_fails_with_the_difference() {
    let sandbox = Sandbox::new();
    sandbox.write("shop.py", block("python"));
    sandbox.write("shop.yaml", block("yaml").replace("2 paid", "3 paid"));
    sandbox.write("waits.yaml", "steps: [{wait: notifications/none, timeout: 100ms}, {list: tools}]");
    let words = ["test", "shop.py", "scenario", "shop.yaml", "waits.yaml", "--junit", "report.xml"];
    let (code, text, error) = run(&sandbox, &words);
    assert!(code == Some(1) && error.ends_with("error: a scenario has failed\n"), "{error}");
    assert!(text.contains("      text: expected \"3 paid\", got \"2 paid\"\n  - list tools"), "{text}");
    assert!(
        text.contains("      it took longer than 100ms\n") && text.ends_with("0 of 2 scenarios passed, 3 of 9 steps\n"),
        "{text}"
    );
    let junit = fs::read_to_string(sandbox.path("report.xml")).expect("it was written");
    assert!(
        junit.contains("tests=\"7\" failures=\"1\" skipped=\"3\"") && junit.contains("<failure message=\"text: "),
        "{junit}"
    );
    let (_, json, _) = run(&sandbox, &["test", "shop.py", "scenario", "waits.yaml", "--format", "json"]);
    let report: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&report["pass"], &report["scenarios"][0]["steps"][1]["verdict"]), (&json!(false), &json!("skipped")));
}

#[test]
fn questions_of_a_tool_are_answered_by_the_steps() {
    let sandbox = Sandbox::new();
    let tools = r#"
from protomcp import ToolContext, tool

@tool("Books a table.")
def book(ctx: ToolContext) -> str:
    form = {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]}
    answer = ctx.ask("How many people?", form)
    return f"a table for {answer.content['people']}" if answer else "no table"

@tool("Finds a title.")
def title(ctx: ToolContext) -> str:
    return ctx.sample([{"role": "user", "content": "A title?"}], max_tokens=10)["content"]
"#;
    sandbox.write("travel.py", tools);
    let good = json!({"steps": [
        {"call": "book", "questions": [{"message": {"contains": "people"}, "form": {"people": 4}}],
            "expect": {"text": "a table for 4"}},
        {"call": "book", "questions": [{"action": "decline"}], "expect": {"text": "no table"}},
        {"call": "title", "questions": [{"message": "A title?", "reply": "Rain"}], "expect": {"text": "Rain"}},
    ]});
    let bad = json!({"steps": [{"call": "book", "questions": [{"action": "cancel"}, {"reply": "x"}]}]});
    // JSON is YAML.
    sandbox.write("good.yaml", good.to_string());
    sandbox.write("bad.yaml", bad.to_string());
    let (code, text, error) = run(&sandbox, &["test", "travel.py", "run", "good.yaml", "--sdk", "bundled"]);
    assert!(code == Some(0) && text.ends_with("3 of 3 steps\n"), "{text}{error}");
    let (code, text, _) = run(&sandbox, &["test", "travel.py", "run", "bad.yaml", "--sdk", "bundled"]);
    assert!(code == Some(1) && text.contains("questions: 1 more expected, and the server has not asked"), "{text}");
}

#[test]
fn a_step_asks_for_all_pages_or_for_one() {
    let sandbox = Sandbox::new();
    let server = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params", {})
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "pages", "version": "1"}}
    elif method == "tools/list":
        page = int(params.get("cursor", "0"))
        answer["result"] = {"tools": [{"name": f"tool{page}", "inputSchema": {"type": "object"}}]}
        if page < 2:
            answer["result"]["nextCursor"] = str(page + 1)
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"#;
    sandbox.write("server.py", server);
    let next = |exists: bool| json!({"/nextCursor": {"exists": exists}});
    let good = json!({"steps": [
        {"list": "tools", "expect": {"names": ["tool0", "tool1", "tool2"], "at": next(false)}},
        {"list": "tools", "page": true, "expect": {"names": ["tool0"], "at": next(true)}, "save": {"next": "/nextCursor"}},
        {"list": "tools", "page": "{{next}}", "expect": {"names": ["tool1"], "at": next(true)}},
        {"list": "tools", "page": "2", "expect": {"names": ["tool2"], "at": next(false)}},
    ]});
    sandbox.write("good.yaml", good.to_string());
    sandbox.write("bad.yaml", json!({"steps": [{"list": "tools", "page": 2}]}).to_string());
    let command = ["--", "python3", "server.py"];
    let (code, text, error) = run(&sandbox, &[&["test", "run", "good.yaml"][..], &command].concat());
    assert!(code == Some(0) && text.ends_with("4 of 4 steps\n"), "{text}{error}");
    assert!(text.contains("list tools, one page"), "{text}");
    let (code, _, error) = run(&sandbox, &[&["test", "run", "bad.yaml"][..], &command].concat());
    assert!(code == Some(2) && error.contains("step 1: page is true for the first page"), "{error}");
}

#[test]
fn a_step_changes_the_roots_of_the_client() {
    let sandbox = Sandbox::new();
    let tools = r#"
from protomcp import AskError, ToolContext, tool

@tool("Names the folders of the client.")
def folders(ctx: ToolContext) -> str:
    try:
        return ", ".join(f"{root.uri} {root.name or '-'}" for root in ctx.roots()) or "none"
    except AskError:
        return "refused"
"#;
    sandbox.write("folders.py", tools);
    let folders = |text: &str| json!({"call": "folders", "expect": {"text": text}});
    let with = json!({"variables": {"place": "file:///b"}, "roots": ["file:///a"], "steps": [
        folders("file:///a -"),
        {"roots": [{"uri": "{{place}}", "name": "B"}, "file:///c"]},
        folders("file:///b B, file:///c -"),
        {"roots": []},
        folders("none"),
    ]});
    sandbox.write("with.yaml", with.to_string());
    sandbox.write("without.yaml", json!({"steps": [folders("refused")]}).to_string());
    sandbox.write("late.yaml", json!({"steps": [{"roots": []}]}).to_string());
    let test = |file: &str| run(&sandbox, &["test", "folders.py", "run", file, "--sdk", "bundled"]);
    let (code, text, error) = test("with.yaml");
    assert!(code == Some(0) && text.ends_with("5 of 5 steps\n"), "{text}{error}");
    let (code, text, error) = test("without.yaml");
    assert!(code == Some(0), "{text}{error}");
    let (code, _, error) = test("late.yaml");
    assert!(code == Some(2) && error.contains("step 1: a client has roots from the beginning"), "{error}");
}

#[test]
fn scenarios_run_side_by_side_and_by_their_tags() {
    let sandbox = Sandbox::new();
    // Each end of the pipe opens when the other one does.
    let tools = "from protomcp import tool\n\n@tool('Meets another process.')\n\
                 def meet(mode: str) -> str:\n    open('pipe', mode).close()\n    return 'met'\n";
    sandbox.write("meets.py", tools);
    let pipe = Command::new("mkfifo").arg(sandbox.path("pipe")).status().expect("mkfifo starts");
    assert!(pipe.success());
    for (name, mode, tags) in
        [("one", "r", json!(["pair", "first"])), ("two", "w", json!(["pair"])), ("not", "x", json!([]))]
    {
        let step = json!({"call": "meet", "arguments": {"mode": mode}, "expect": {"text": "met"}});
        sandbox.write(&format!("{name}.yaml"), json!({"tags": tags, "steps": [step]}).to_string());
    }
    let files = ["test", "meets.py", "run", "one.yaml", "two.yaml", "not.yaml", "--tag"];
    let (code, text, error) = run(&sandbox, &[&files[..], &["pair"]].concat());
    assert!(code == Some(0) && text.ends_with("2 of 2 scenarios passed, 2 of 2 steps\n"), "{text}{error}");
    assert!(text.starts_with("one\n") && text.contains("\ntwo\n"), "in the order of the command line: {text}");
    let (code, _, error) = run(&sandbox, &[&files[..], &["pears"]].concat());
    assert!(code == Some(2) && error.contains("no scenario has the tag \"pears\"; there are first, pair"), "{error}");
}

#[test]
fn a_save_runs_the_scenarios_again() {
    let sandbox = sandbox("py/basics.py");
    let expecting = |sum: u8| format!("steps: [{{call: add, arguments: {{a: 1, b: 2}}, expect: {{text: '{sum}'}}}}]");
    sandbox.write("sum.yaml", expecting(3));
    let mut command = sandbox.pmcp(&["test", "basics.py", "run", "sum.yaml", "--watch"]).command();
    let mut child = command.spawn().expect("pmcp starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    let mut until = |part: &str| assert!(lines.any(|line| line.contains(part)), "{part} is not printed");
    until("1 of 1 scenarios passed");
    until("waiting for a save");
    sandbox.write("sum.yaml", expecting(4));
    until("text: expected \"4\", got \"3\"");
    until("waiting for a save");
    sandbox.write("sum.yaml", "steps: [");
    until("waiting for a save");
    let tools = fs::read_to_string(sandbox.path("basics.py")).expect("the file is there");
    sandbox.write("sum.yaml", expecting(4));
    sandbox.write("basics.py", tools.replace("str(a + b)", "str(a + b + 1)"));
    until("1 of 1 scenarios passed");
    until("waiting for a save");
    // A save ends a run that takes long.
    let hang =
        "@tool('Hangs.')\ndef hang() -> str:\n    open('hangs', 'w').close()\n    time.sleep(3600)\n\n\nif __name__";
    sandbox.write("basics.py", tools.replace("if __name__", hang));
    until("waiting for a save");
    sandbox.write("sum.yaml", "steps: [{call: hang}]");
    eventually("the tool hangs", || sandbox.path("hangs").exists().then_some(()));
    sandbox.write("sum.yaml", expecting(3));
    until("saved while a scenario ran: from the beginning");
    until("1 of 1 scenarios passed");
    until("waiting for a save");
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_long_text_that_differs_is_shown_by_its_lines() {
    let sandbox = Sandbox::new();
    let tools = "from protomcp import tool\n\n@tool('Prints a poem.')\ndef poem() -> str:\n    return 'roses\\nviolets\\nend'\n";
    sandbox.write("poem.py", tools);
    let step = json!({"call": "poem", "expect": {"text": "roses\ntulips\nend"}});
    sandbox.write("poem.yaml", json!({"steps": [step]}).to_string());
    let (code, text, _) = run(&sandbox, &["test", "poem.py", "run", "poem.yaml"]);
    let shown =
        "      text: expected other text from line 2:\n        roses\n      - tulips\n      + violets\n        end\n";
    assert!(code == Some(1) && text.contains(shown), "{text}");
}

/// Any server can be tested: the messages come from its transport.
#[test]
fn a_command_is_tested_as_well() {
    let sandbox = sandbox("py/basics.py");
    let server = Path::to_str(pmcp()).expect("the path is text");
    let (code, text, error) =
        run(&sandbox, &["test", "call", "add", "--args", r#"{"a": 1, "b": 1}"#, "--", server, "run", "basics.py"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(text.contains("Result:\n  2\n") && text.contains("send tools/call\n"), "{text}");
}

/// Item 91.
#[test]
fn mistakes_are_named() {
    let sandbox = sandbox("py/basics.py");
    sandbox.write("bad.yaml", "steps: [{call: add, expects: 1}]");
    let rows: &[(&[&str], &str)] = &[
        (&["test", "basics.py"], "missing subcommand: use list, call or run"),
        (&["test", "basics.py", "call"], "missing tool name"),
        (&["test", "basics.py", "play"], "unknown subcommand \"play\""),
        (&["test", "basics.py", "list", "more"], "unexpected argument \"more\""),
        (&["test", "basics.py", "call", "add", "--args", "[]"], "invalid --args JSON: expected an object"),
        (&["test", "basics.py", "call", "add", "--args", "{"], "invalid --args JSON: EOF"),
        (&["test", "basics.py", "call", "add", "a=1", "--args", "{}"], "use --args or words, not both"),
        (&["test", "basics.py", "call", "add", "a"], "invalid argument \"a\": expected name=value"),
        (&["test", "basics.py", "list", "--format", "xml"], "invalid --format \"xml\": must be 'text' or 'json'"),
        (&["test", "basics.py", "scenario"], "missing scenario"),
        (&["test", "basics.py", "run", "bad.yaml"], "expects"),
        (&["test", "basics.py", "scenario", "none.yaml"], "none.yaml: No such file"),
        (&["test", "run", "shop.yaml"], "missing tool file: use pmcp test tools.py run shop.yaml"),
        (&["test"], "missing server"),
    ];
    for (words, part) in rows {
        let (code, _, error) = run(&sandbox, words);
        assert!(code == Some(2) && error.contains(part), "{words:?}: {code:?} {error}");
    }
    let (code, _, error) = run(&sandbox, &["test", "basics.py", "call", "nothing"]);
    assert!(code == Some(1) && error.contains("unknown tool"), "{error}");
}
