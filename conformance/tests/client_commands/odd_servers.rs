//! Servers whose names and answers are unusual.

use protomcp_conformance::Sandbox;

use super::{error, run, sandbox};

/// A server whose names pose as further lines, as commands of a terminal, and as other names.
const POSING: &str = r#"
import json, sys
NAME = "pay\n\u2713 safe\u001b[2J\u202ey"
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}},
                            "serverInfo": {"name": "posing", "version": "1"}}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": NAME, "description": "Pays.", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "prompts/list":
        answer["result"] = {"prompts": [{"name": NAME}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn names_of_a_server_stay_within_their_line() {
    let sandbox = Sandbox::new();
    sandbox.write("posing.py", POSING);
    let command = ["--", "python3", "posing.py"];
    let shown = r"pay\n✓ safe\u{1b}[2J\u{202e}y";
    for words in
        [&["list"][..], &["list", "--kind", "prompts"], &["test", "list"], &["validate"], &["validate", "--strict"]]
    {
        let output = run(&sandbox, &[words, &command].concat(), "");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(text.contains(shown), "{words:?}: {text}");
        assert!(
            !text.contains(['\u{1b}', '\u{202e}']) && !text.lines().any(|line| line.starts_with("✓ safe")),
            "{text}"
        );
    }
    let (_, text) = error(&sandbox, &[&["call", "pay\n✓ safe\u{1b}[2Jy"][..], &command].concat());
    assert!(text.contains(&format!("did you mean {shown}?")), "{text}");
}

/// A server that has cut its texts inside an emoji, and has a number that does not fit a double.
const CUT: &str = r#"
import json, sys
TOOL = r'{"name":"cut","description":"Cuts \ud83d.","inputSchema":{"type":"object","maxProperties":1e400}}'
RESULT = r'{"content":[{"type":"text","text":"cut \ud83d"}],"structuredContent":{"n":1e400},"isError":true}'
for line in sys.stdin:
    asked = json.loads(line)
    answer = {
        "initialize": '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}',
        "tools/list": '{"tools":[%s]}' % TOOL,
        "tools/call": RESULT,
    }.get(asked.get("method"))
    if "id" in asked and answer:
        print('{"jsonrpc":"2.0","id":%s,"result":%s}' % (json.dumps(asked["id"]), answer), flush=True)
    elif "id" in asked:
        print('{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}' % json.dumps(asked["id"]), flush=True)
"#;

/// Nothing of it is lost, and an error stays one.
#[test]
fn a_result_that_is_not_all_text_is_printed() {
    let sandbox = sandbox();
    sandbox.write("cut.py", CUT);
    let server = ["--", "python3", "cut.py"];
    let run = |words: &[&str]| run(&sandbox, &[words, &server].concat(), "");
    let output = run(&["call", "cut", "--json"]);
    assert_eq!(output.status.code(), Some(1), "the tool reports an error");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(r"cut \ud83d") && text.contains("1e400"), "{text}");
    assert_eq!(String::from_utf8_lossy(&run(&["call", "cut"]).stdout), "cut \u{fffd}\n");
    let output = run(&["test", "call", "cut"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("cut \u{fffd}"), "{text}");
    let output = run(&["test", "list"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("Tools (1):") && text.contains("cut"), "{text}");
    let text = String::from_utf8_lossy(&run(&["validate"]).stdout).into_owned();
    assert!(text.contains("cut") && !text.contains("empty tool name"), "{text}");
}

/// An answer that is not JSON, as Python writes `NaN`, and one without the list of a result.
#[test]
fn an_answer_that_cannot_be_used_fails_the_call() {
    let sandbox = sandbox();
    for (result, expected) in [
        (r#"{"content":[],"structuredContent":{"n":NaN}}"#, "parse error: "),
        (r#"{"content":"hello"}"#, "the server has answered without a list of content; --json prints its answer"),
    ] {
        let begin = CUT.find("RESULT = ").expect("it has a result");
        let end = begin + CUT[begin..].find('\n').expect("it has lines");
        sandbox.write("wrong.py", CUT.replace(&CUT[begin..end], &format!("RESULT = r'{result}'")));
        let output = run(&sandbox, &["call", "cut", "--", "python3", "wrong.py"], "");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && error.contains(expected), "{error}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}
